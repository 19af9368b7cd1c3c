"""Templates made into pages. Stored text is data: escaped, never obeyed; Markdown is rendered and then sanitised."""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import nh3
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from adapters.web import addresses

FOLDER = Path(__file__).parent
TAGS = {
    *("p", "br", "em", "strong", "s", "code", "pre", "ul", "ol", "li", "blockquote", "h4", "hr", "a"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
_OVERRIDES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def visible(text: str) -> str:
    """Without what could reorder a line or is no text: such signs are shown as �."""
    if text.isascii() and text.isprintable():
        return text
    return "".join("�" if _hidden(one) else one for one in text)


def _hidden(sign: str) -> bool:
    if sign in "\n\t\r":
        return False
    return sign in _OVERRIDES or unicodedata.category(sign) in ("Cc", "Cs")


def markdown(text: str) -> Markup:
    """Stored Markdown as safe HTML: no HTML of its own, no image, links to http, https and mailto only."""
    tokens = _parser().parse(visible(text))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h4"  # below every heading of the page
    made = _parser().renderer.render(tokens, _parser().options, {})
    return Markup(
        nh3.clean(
            made,
            tags=TAGS,
            attributes={"a": {"href"}},
            url_schemes={"http", "https", "mailto"},
            link_rel="noopener noreferrer nofollow",
        )
    )


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


def when(at: str) -> Markup:
    """An ISO time as people read it, in UTC."""
    if not at:
        return Markup("")
    return Markup('<time datetime="{}">{}</time>').format(at, f"{at[:10]} {at[11:16]}")


def words(name: str) -> str:
    """`memory_promoted` → `memory promoted`."""
    return name.replace("_", " ")


def sentence(text: str) -> str:
    """What the domain says in lower case and without an end; an id at its beginning stays as it is."""
    first = text.split(" ", 1)[0].rstrip(":,")
    start = text[:1].upper() + text[1:] if first.isalpha() else text
    return start if start.endswith((".", "!", "?")) else f"{start}."


def percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def number(value: float) -> str:
    return f"{value:,.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"


def counted(count: int, one: str, many: str = "") -> str:
    """`1 event`, `1,204 events`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _final(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _linked(record: str, workspace: str) -> Markup:
    """An id, as a link to its page when it has one."""
    url = addresses.record_url(record, workspace)
    name = visible(record.removeprefix("memory:"))
    if not url:
        return Markup("<code>{}</code>").format(name)
    return Markup('<a class="id" href="{}">{}</a>').format(url, name)


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_final,
    )
    made.filters.update(markdown=markdown, when=when, words=words, percent=percent, number=number, sentence=sentence)
    made.globals.update(
        counted=counted,
        linked=_linked,
        session_url=addresses.session_url,
        review_url=addresses.review_url,
        memory_url=addresses.memory_url,
        fact_url=addresses.fact_url,
        settings_url=addresses.settings_url,
        with_query=addresses.with_query,
    )
    return made


def rendered(template: str, **shown: Any) -> bytes:
    """A page in UTF-8; what is no valid Unicode is shown as ?."""
    return environment().get_template(template).render(**shown).encode("utf-8", "replace")
