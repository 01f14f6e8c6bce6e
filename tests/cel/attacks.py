"""Expressions that take much work to compile."""

MAX_CHARACTERS = 10 * 1024


def chain(start: str, link: str, end: str) -> str:
    """Return the longest chain that the parser's depth and a selector's length allow."""
    count = min(240, (MAX_CHARACTERS - len(start) - len(end)) // len(link))
    return start + link * count + end


def nest(before: str, inner: str, after: str, end: str = "") -> str:
    count = min(200, (MAX_CHARACTERS - len(inner) - len(end)) // len(before + after))
    return before * count + inner + after * count + end


def bindings(value: str, first: str = "[]", count: int = 200) -> str:
    """Each name stands for a value that holds the name before it twice."""
    text, before = f"cel.bind(n0, {first}, ", "n0"
    for number in range(1, count):
        name = f"n{number}"
        text += f"cel.bind({name}, {value.replace('$', before)}, "
        before = name
    return f"{text}true{')' * count}"


ATTACKS = {
    "optMap": chain("optional.of(1)", ".optMap(x, x)", ".hasValue()"),
    "optMap in twenty": "optional.of(1)" + ".optMap(x, x)" * 20 + ".hasValue()",
    "optFlatMap": chain("optional.of(1)", ".optFlatMap(x, optional.of(x))", ".hasValue()"),
    "optMap of optMap": nest("optional.of(1).optMap(x, ", "x", ")", ".hasValue()"),
    "optMap in the target": nest("optional.of(", "1", ").optMap(x, x)", ".hasValue()"),
    "map": chain("[1]", ".map(x, x)", ".size() > 0"),
    "map with a filter": chain("[1]", ".map(x, x > 0, x)", ".size() > 0"),
    "filter": chain("[1]", ".filter(x, true)", ".size() > 0"),
    "all in all": nest("[1].all(x, ", "true", ")"),
    "exists in exists": nest("[[1]].exists(x, ", "true", ")"),
    "exists_one": nest("[1].exists_one(x, ", "true", ")"),
    "transformList": chain("[1]", ".transformList(i, v, v)", ".size() > 0"),
    "transformMap": chain("{1: 2}", ".transformMap(k, v, v)", ".size() > 0"),
    "transformMapEntry": chain("{1: 2}", ".transformMapEntry(k, v, {k: v})", ".size() > 0"),
    "sortBy": chain("[1]", ".sortBy(x, x)", ".size() > 0"),
    "bind": nest("cel.bind(x, [1], ", "true", ")"),
    "bind in its value": nest("cel.bind(x, ", "true", ", x)"),
    "lists of lists": nest("[", "1", "]", " == []"),
    "lists of nothing": nest("[", "", "]", " == []"),
    "lists beside lists": f"[{','.join(['[]'] * 3000)}].size() > 0",
    "maps that double": bindings("{$: $}", "{1: 1}"),
    "empty maps that double": bindings("{$: $}"),
    "lists that double": bindings("[$, $]"),
    "optionals that double": bindings("optional.of([$, $])"),
    "types of open lists": bindings("[$, [$]]"),
    "values that double": bindings("$ + $", "[1]"),
    "paths": bindings("$.a.a.a.a.a.a.a", "device.attributes"),
    "dyn": nest("dyn(", "true", ")"),
    "type": nest("type(", "1", ")", " == int"),
    "string": nest("string(", "1", ")", " == '1'"),
    "ternary": chain("", "true ? 1 : ", "1") + " == 1",
    "parentheses": nest("(", "true", ")"),
    "not": "!" * 10000 + "true",
    "minus": "-" * 9990 + "(1) > 0",
    "sum": chain("1", " + 1", " > 0"),
    "conjunction": " && ".join(["true"] * 1200),
    "comparisons": " && ".join(["1 < 2.0"] * 900),
    "index": chain("dyn([])", "[0]", " == 1"),
    "selections": " && ".join(["device.attributes" + ".a" * 200] * 20),
    "optional selections": chain("device.attributes", ".?a", ".hasValue()"),
    "digits": f"{'9' * 10000} > 0",
    "fraction": f"0.{'9' * 10000} > 0.0",
    "exponent": f"1e{'9' * 9000} > 0.0",
    "negative exponent": f"1e-{'9' * 9000} == 0.0",
    "hexadecimal": f"0x{'f' * 10000} > 0",
    "syntax errors": "$ " * 5000,
    "unfinished strings": '"""\\q ' * 1600,
    "undeclared": " && ".join(["x.y == 1"] * 800),
    "undeclared and doubled": "optional.of(y)" + ".optMap(x, x)" * 30 + ".hasValue()",
    "mixed lists and doubled": "optional.of([1, 'a'])" + ".optMap(x, x)" * 30 + ".hasValue()",
    "format": f"'{'%s' * 3000}'.format([{','.join(['1'] * 1000)}]) == ''",
    "format of lists": f"'%s'.format([{'[' * 200}1{']' * 200}]) == ''",
    "duration": f"duration('{'1h' * 4000}') > duration('1h')",
    "timestamp": f"timestamp('{'1' * 9000}') > timestamp('2000-01-01T00:00:00Z')",
    "quantity": f"quantity('1e{'9' * 9000}').isInteger()",
    "semver": f"semver('{'1.' * 4000}1') == semver('1.0.0')",
}
