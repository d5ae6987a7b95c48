"""No text of a caller's becomes a program where calls are carried."""

from __future__ import annotations

import ast

from tests.house.tree import text_of, tracked

COMPILERS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall"}
COMPILERS |= {"finditer", "template"}
EVALUATORS = {"eval", "exec", "compile"}
OURS = [path for path in tracked(".py") if path.startswith(("gateway/", "keys/", "accounts/"))]


def is_constant(node: ast.expr) -> bool:
    """True for a literal, a constant of a module, or such put together."""
    if isinstance(node, ast.BinOp):
        return is_constant(node.left) and is_constant(node.right)
    if isinstance(node, ast.JoinedStr):
        return all(map(is_constant, node.values))
    if isinstance(node, ast.FormattedValue):
        return is_constant(node.value)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def compiled_in(path: str) -> list[str]:
    """Return the calls of a file that compile something other than a literal."""
    found = []
    for node in ast.walk(ast.parse(text_of(path))):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            is_expression = function.value.id == "re" and function.attr in COMPILERS
        else:
            is_expression = isinstance(function, ast.Name) and function.id in EVALUATORS
        if is_expression and not (node.args and is_constant(node.args[0])):
            found.append(f"{path}:{node.lineno}")
    return found


def test_only_expressions_of_our_own_are_compiled() -> None:
    assert [place for path in OURS for place in compiled_in(path)] == []
