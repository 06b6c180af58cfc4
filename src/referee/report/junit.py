"""Reports as JUnit XML, for continuous integration: a test case per result and per threshold."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from referee.evaluate.report import Report, SideBySide
from referee.report.document import counted
from referee.report.problems import Unmet, result_problems, unmet
from referee.results import ItemResult
from referee.terminal import visible

#: Characters that XML 1.0 cannot carry and `visible` leaves.
_NOT_XML = re.compile("[\ufffe\uffff]")


def as_junit(report: Report | SideBySide) -> str:
    """The XML. A result with a failing gate is a failure, one with an error an error.

    Each threshold is a case too, and so are results that are missing.
    """
    reports = [report] if isinstance(report, Report) else list(report.values())
    root = Element("testsuites", name=_text(reports[0].evaluation.name or "referee"))
    for entry in reports:
        _add_suite(root, entry)
    indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def _add_suite(root: Element, report: Report) -> None:
    suite = SubElement(root, "testsuite", name=_text(report.name or "referee"))
    if report.evaluation.created_at:
        suite.set("timestamp", report.evaluation.created_at)
    properties = SubElement(suite, "properties")
    values: list[tuple[str, object]] = [("verdict", report.verdict), ("evaluation", report.evaluation.id)]
    values += [(f"mean of {name}", summary.mean) for name, summary in report.summary.items()]
    for name, value in values:
        SubElement(properties, "property", name=_text(name), value=_text("none" if value is None else str(value)))
    asked = unmet(report)
    for result in report.results:
        _add_case(suite, report, result, asked)
    for threshold in (*report.thresholds, *report.local_thresholds):
        place = f" of {threshold.item_id}" if threshold.item_id is not None else ""
        case = _case(suite, report, f"threshold {threshold.id}{place}", 0.0)
        if not threshold.passed:
            SubElement(case, "failure", message=_text(threshold.reason), type="threshold")
    if report.missing:
        case = _case(suite, report, "missing results", 0.0)
        SubElement(case, "error", message=f"incomplete: {counted(report.missing, 'result')} missing", type="incomplete")
    _count(suite)


def _case(suite: Element, report: Report, name: str, seconds: float) -> Element:
    return SubElement(
        suite, "testcase", classname=_text(report.name or "referee"), name=_text(name), time=f"{seconds:.3f}"
    )


def _add_case(suite: Element, report: Report, result: ItemResult, asked: Unmet) -> None:
    case = _case(suite, report, result.name, (result.duration_ms or 0.0) / 1000)
    problems = [problem for problem in result_problems(report, result, asked) if problem.tone == "bad"]
    if not problems:
        if all(score.status == "not_scorable" for score in result.all_scores):
            SubElement(case, "skipped", message="nothing was scorable")
        return
    kind = "error" if result.has_errors else "failure"
    element = SubElement(case, kind, message=_text(problems[0].title), type=kind)
    element.text = _text("\n".join(f"{problem.title}\n{problem.reason}" for problem in problems))


def _count(suite: Element) -> None:
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", f"{sum(float(case.get('time', 0)) for case in cases):.3f}")


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", visible(text))
