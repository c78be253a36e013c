"""Findings of an inspection: an element, the rule that it breaks, and the consequence."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Severity(IntEnum):
    """How bad a finding is."""

    NOTE = 0  # nothing is wrong, but something was assumed or could not be checked
    WARNING = 1  # possible, but probably not intended
    ERROR = 2  # physically impossible, or the dynamics has no solution

    def __str__(self) -> str:
        """Return the name in lower case."""
        return self.name.lower()


NOTE, WARNING, ERROR = Severity


@dataclass(frozen=True)
class Rule:
    """A rule that descriptions are checked against."""

    name: str  # identifier for programs
    fault: str  # what is wrong where the rule is broken: continues "link 'a' ..."
    consequence: str  # what follows if nothing is done


Breach = tuple[Severity, Rule, str]  # how bad, of which rule, and the values found


@dataclass(frozen=True)
class Finding:
    """One element that breaks one rule."""

    severity: Severity  # how bad it is
    rule: Rule  # the rule broken
    kind: str  # "link", "joint" or "robot"
    name: str  # the element's name
    found: str = ""  # the values found, and what was expected; may be empty

    @property
    def element(self) -> str:
        """Kind and name, as in messages."""
        return f"{self.kind} {self.name!r}"

    def __str__(self) -> str:
        """Return element and fault in one line."""
        return f"{self.element} {self.rule.fault}" + (f": {self.found}" if self.found else "")

    def as_dict(self) -> dict[str, Any]:
        """Return the finding for JSON."""
        return {
            "severity": str(self.severity),
            "rule": self.rule.name,
            "kind": self.kind,
            "name": self.name,
            "fault": self.rule.fault,
            "found": self.found,
            "consequence": self.rule.consequence,
        }


def by_rule(findings: Iterable[Finding]) -> dict[tuple[Severity, Rule], list[Finding]]:
    """Group the findings by severity and rule, the worst first."""
    groups: dict[tuple[Severity, Rule], list[Finding]] = {}
    for finding in sorted(findings, key=lambda finding: -finding.severity):
        groups.setdefault((finding.severity, finding.rule), []).append(finding)
    return groups


def summary(findings: Iterable[Finding], limit: int = 20) -> str:
    """Return all findings in one line, grouped by rule; cut short, as the URDF may be hostile."""
    groups = [f"{rule.fault}: {elements(same)}" for (_, rule), same in by_rule(findings).items()]
    rest = [f"and {len(groups) - limit} more rules"] if len(groups) > limit else []
    return "; ".join([*groups[:limit], *rest])


def statement(rule: Rule, findings: Sequence[Finding], limit: int = 20) -> str:
    """Return in one line which elements break a rule."""
    said = elements(findings, limit)
    return f"{said} {rule.fault}" if len(findings) == 1 else f"{rule.fault}: {said}"


def elements(findings: Iterable[Finding], limit: int = 20) -> str:
    """Return the elements' names, each kind once; cut short, since the URDF may be hostile."""
    names: dict[str, list[str]] = {}
    for finding in findings:
        names.setdefault(finding.kind, []).append(repr(finding.name[:100]))
    return "; ".join(
        f"{kind}{'s' if len(found) > 1 else ''} {', '.join(found[:limit])}"
        + (f" and {len(found) - limit} more" if len(found) > limit else "")
        for kind, found in names.items()
    )
