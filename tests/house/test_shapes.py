"""No class, function or constructor grows past what a reader can hold, and types stay precise."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.tree import text_of, tracked

MOST_METHODS = 20
LONGEST_FUNCTION = 60
MOST_POSITIONAL = 5
MOST_ANY = 100
PRODUCT = ("gateway/", "accounts/", "keys/", "dashboard/")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in tracked(".py"):
        if path.startswith(PRODUCT):
            yield path, ast.parse(text_of(path))


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                yield f"{path}:{node.name}", node


def methods(node: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [item for item in node.body if isinstance(item, FUNCTIONS)]


def test_no_class_has_more_than_20_methods() -> None:
    counts = {name: len(methods(node)) for name, node in classes()}

    assert {name: n for name, n in counts.items() if n > MOST_METHODS} == {}


def test_no_function_is_longer_than_60_lines() -> None:
    lengths = {
        f"{path}:{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, FUNCTIONS)
    }

    assert {name: n for name, n in lengths.items() if n > LONGEST_FUNCTION} == {}


def own_constructor(node: ast.ClassDef) -> int | None:
    """Return how many arguments the class's own __init__ takes by position; None without one."""
    for method in methods(node):
        if method.name == "__init__":
            return len(method.args.posonlyargs) + len(method.args.args) - 1
    return None


def is_true(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is True


def keyword_of(call: ast.Call | ast.ClassDef, name: str) -> ast.expr | None:
    return next((word.value for word in call.keywords if word.arg == name), None)


def is_keyword_only(call: ast.Call | ast.ClassDef) -> bool:
    value = keyword_of(call, "kw_only")
    return value is not None and is_true(value)


def name_of(node: ast.expr) -> str:
    return ast.unparse(node).split("(")[0].split("[")[0].rsplit(".", 1)[-1]


def is_field(item: ast.stmt) -> bool:
    return isinstance(item, ast.AnnAssign) and name_of(item.annotation) != "ClassVar"


RECORDS = {"Struct", "NamedTuple"}


def bases_of(node: ast.ClassDef, known: dict[str, ast.ClassDef]) -> list[ast.ClassDef]:
    """Return the classes of the product that a class inherits from, found by their names."""
    found = [known.get(base.id) for base in node.bases if isinstance(base, ast.Name)]
    return [base for base in found if base is not None and base.name != node.name]


def is_record(node: ast.ClassDef, known: dict[str, ast.ClassDef]) -> bool:
    return (
        bool({name_of(base) for base in node.bases} & RECORDS)
        or any(name_of(item) == "dataclass" for item in node.decorator_list)
        or any(is_record(base, known) for base in bases_of(node, known))
    )


def own_fields(node: ast.ClassDef) -> int:
    """Count the fields of a record that its constructor takes by position."""
    decorators = [item for item in node.decorator_list if isinstance(item, ast.Call)]
    if is_keyword_only(node) or any(is_keyword_only(item) for item in decorators):
        return 0
    count = 0
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and name_of(item.annotation) == "KW_ONLY":
            break
        count += is_field(item)
    return count


def positional(node: ast.ClassDef, known: dict[str, ast.ClassDef]) -> int:
    declared = own_constructor(node)
    if declared is not None:
        return declared
    if not is_record(node, known):
        return 0
    return own_fields(node) + sum(positional(base, known) for base in bases_of(node, known))


def test_no_constructor_takes_more_than_5_arguments_by_position() -> None:
    named = dict(classes())
    known = {node.name: node for node in named.values()}

    counts = {name: positional(node, known) for name, node in named.items()}

    assert {name: n for name, n in counts.items() if n > MOST_POSITIONAL} == {}


def test_any_is_the_exception_among_types() -> None:
    counts = {
        path: sum(
            (isinstance(node, ast.Name) and node.id == "Any")
            or (isinstance(node, ast.Attribute) and node.attr == "Any")
            for node in ast.walk(tree)
        )
        for path, tree in modules()
    }

    total = sum(counts.values())

    assert total <= MOST_ANY, sorted(((n, path) for path, n in counts.items() if n), reverse=True)
