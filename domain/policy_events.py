"""The events of a policy: proposed, superseded, activated, deactivated; and an activation that was turned away."""

from __future__ import annotations

from typing import ClassVar

from domain.event import Event


class PolicyEvent(Event):
    """What happens to one policy."""

    policy_id: str

    @property
    def record(self) -> str:
        return self.policy_id


class PolicyProposed(PolicyEvent, name="policy.policy-proposed"):
    """`held`: why it waits for a person, and is not active until then. `supersedes`: what gives way to it then."""

    sealed: ClassVar[tuple[str, ...]] = ("rule",)

    domain: str
    rule: str
    required_role: str = ""  # whom the rule addresses; it keeps it from nobody
    derived_from: tuple[str, ...] = ()  # fact ids, those of the policy that it replaces among them
    active: bool
    held: str = ""
    supersedes: str = ""


class PolicySuperseded(PolicyEvent, name="policy.policy-superseded"):
    by: str


class PolicyActivated(PolicyEvent, name="policy.policy-activated"):
    """`self_reviewed`: whoever proposed it let it in, as this workspace allows (`review.allow_self`)."""

    self_reviewed: bool = False


class PolicyDeactivated(PolicyEvent, name="policy.policy-deactivated"):
    pass


class PolicyActivationRefused(PolicyEvent, name="policy.policy-activation-refused"):
    """Somebody tried to let a held policy in who may not. `cause`: the error's words."""

    cause: str
