"""The checklist as a form: what is decided, what comes of it, and what is never lost on the way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from adapters.sessions import Sessions
from adapters.workspace import open_workspace
from domain.session import NewDecision
from tests.web.conftest import Browser, told_in
from tests.web.test_acts import REASON
from tests.web.world import CLARIFIED, CODER

if TYPE_CHECKING:
    from tests.serving.conftest import Server
    from tests.web.world import World

PAGE = "/review/session-1"


def filled(html: str) -> dict[str, str]:
    """The form as it stands: hidden fields, and what is preselected."""
    form = re.search(r"<form[^>]*data-review>.*?</form>", html, re.DOTALL)
    assert form
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form.group(0)))
    fields |= dict(re.findall(r'<input type="radio" name="([^"]+)" value="(\w+)" checked', form.group(0)))
    return fields


def submit(browser: Browser, html: str, path: str = PAGE, **changes: str) -> Any:
    fields = filled(html) | {name.replace("_", "-"): value for name, value in changes.items()}
    for name in ("csrf", "act"):
        fields.pop(name)
    return browser.send(path, "decide", **fields)


def test_the_checklist_is_preselected_five_at_a_time(ada: Browser) -> None:
    html = ada.page("/review")
    marks = {name: value for name, value in filled(html).items() if name.startswith("action-")}
    assert marks == {f"action-{seq}": "promote" for seq in range(1, 6)}
    assert "2 more in this session come next." in html
    assert "mem-0001</a> says exactly this" in html


def test_one_submission_decides_each_item_on_its_own(server: Server, world: World, ada: Browser) -> None:
    answer = submit(
        ada, ada.page("/review"), action_2="decline", reason_2=REASON, action_3="merge", memory_3=world.memory,
        action_4="defer", action_5="edit", subject_5="Active school", detail_5="A school that is open", rationale_5="",
    )  # fmt: skip
    assert answer.status_code == 303, told_in(answer.text)
    assert answer.headers["location"] == f"{PAGE}?after=5"
    told = told_in(ada.page(answer.headers["location"]))
    assert "seq 1: promoted, mem-0002" in told
    assert "seq 2: declined" in told
    assert f"seq 3: merged into {world.memory}" in told
    assert "seq 4: deferred, it stays in the queue" in told
    assert "seq 5: edited, now seq 9; it waits in the queue for another reviewer" in told
    assert "session-1" in ada.page(f"/registry/{world.memory}")
    auditor = server.caller("human:auditor")
    (declined,) = auditor("audit.log", kind="memory_promotion_declined", limit=9)["events"]
    assert (declined["actor"], declined["reason"]) == ("human:ada", REASON)


def test_the_words_of_an_edit_wait_for_somebody_else(server: Server, ada: Browser) -> None:
    submit(ada, ada.page(PAGE), action_1="edit", subject_1="Free rate", detail_1="Mine", rationale_1="",
           action_2="leave", action_3="leave", action_4="leave", action_5="leave")  # fmt: skip
    html = ada.page(f"{PAGE}?after=7")
    assert "Your own words: another reviewer has to promote them." in html
    assert not re.search(r'name="action-9" value="promote"', html)
    assert re.search(r'name="action-9" value="promote"', Browser(server, "human:bob").page(f"{PAGE}?after=7"))


def test_what_changed_since_it_was_shown_is_refused_and_nothing_typed_is_lost(world: World, ada: Browser) -> None:
    html = ada.page(PAGE)
    with open_workspace(world.home, "default") as workspace:
        sessions = Sessions(workspace)
        sessions.reopen("session-1", "F1", CODER)
        again = NewDecision("concept_clarified", *CLARIFIED[1], phase="F1")
        sessions.record("session-1", again, CODER)
    answer = submit(ada, html, action_1="leave", action_2="promote", reason_2="kept <words>", action_3="leave",
                    action_4="leave", action_5="leave")  # fmt: skip
    assert answer.status_code == 409
    assert "StaleCandidate" in told_in(answer.text)
    assert 'value="kept &lt;words&gt;"' in answer.text
    assert 'class="candidate card failed"' in answer.text
    assert "covers seq 9" in answer.text
    retried = submit(ada, answer.text)
    assert "seq 2: promoted" in told_in(ada.page(retried.headers["location"]))


def test_deciding_again_after_a_lost_reply_names_the_first_reviewer(server: Server, ada: Browser) -> None:
    html = ada.page(PAGE)
    leave = {f"action_{seq}": "leave" for seq in (2, 3, 4, 5)}
    assert submit(ada, html, **leave).status_code == 303
    again = submit(Browser(server, "human:bob"), html, **leave)
    assert again.status_code == 303
    listed = server.caller("human:auditor")("audit.log", kind="memory_promoted", limit=50)["events"]
    assert len([one for one in listed if one["session_id"] == "session-1"]) == 1


def test_nothing_marked_is_nothing_written(ada: Browser) -> None:
    leave = {f"action_{seq}": "leave" for seq in range(1, 6)}
    status = submit(ada, ada.page(PAGE), **leave)
    assert status.status_code == 422
    assert "nothing was written" in status.text


def test_the_way_through_the_queue_ends(ada: Browser) -> None:
    html, path, seen = ada.page("/review"), PAGE, 0
    while "data-review" in html:
        answer = submit(ada, html, path)
        assert answer.status_code == 303
        location = answer.headers["location"]
        html, path, seen = ada.page(location), location.partition("?")[0], seen + 1
        assert seen < 9
    assert seen == 3
    assert "Nothing waits for review." in html


def test_nobody_promotes_a_seq_that_is_no_candidate(ada: Browser) -> None:
    answer = ada.send(PAGE, "decide", session="session-1", seqs="8", **{"action-8": "promote", "revision-8": "0" * 16})
    assert answer.status_code == 409
    assert "FAILED" in told_in(answer.text)
    answer = ada.send(PAGE, "decide", session="session-1", seqs="1", **{"action-1": "anoint"})
    assert answer.status_code == 422
