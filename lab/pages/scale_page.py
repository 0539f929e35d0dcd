"""The measured part of docs/scale.md: a table of what was counted in engines, and an estimate for a cluster."""

from __future__ import annotations

from typing import Any

from lab.pages.markdown import table

FORMS = ("few", "measured", "worst")
FLOOR = 1.5
"""Counting may take this many times as long as a plain GROUP BY."""
ROWS, NODES, CORES = 10**11, 100, 16
PRICE = 0.77
"""Approximate price of such a machine in dollars per hour."""
TASK = 128 * 2**20
"""Bytes of a file that one Spark task reads."""
FIELD = 8
"""Bytes of one field of a row that Spark moves."""
FIELDS = 33
"""Thirty columns, the target, a count and a header."""


def table_of(found: list[dict[str, Any]]) -> str:
    """Return one row per measurement, with its ratio to the plain GROUP BY of the same rows and threads."""
    floors = _floors(found)
    rows = [["form", "rows", "what", "engine", "threads", "distinct", "seconds", "rows per second", "GROUP BYs", "MB"]]
    for one in found:
        head = [one["form"], f"{one['rows']:.0e}".replace("e+0", "e"), one["what"], one["engine"], str(one["threads"])]
        if "failed" in one:
            rows.append([*head, "", one["failed"], "", "", ""])
            continue
        floor = floors.get((one["form"], one["rows"], one["threads"]))
        spread = f"{one['wall_s']:.2f} ({one['fastest_s']:.2f}-{one['slowest_s']:.2f})"
        ratio = "" if floor is None else f"{one['wall_s'] / floor:.2f}"
        speed = f"{one['rows'] / one['wall_s'] / 1e6:.2f} M"
        rows.append([*head, f"{one['distinct']:,.0f}", spread, speed, ratio, f"{one['peak_mb']:.0f}"])
    return table(rows)


def verdict(found: list[dict[str, Any]]) -> str:
    floors = _floors(found)
    lines = []
    for what in ("count", "prepare"):
        ratios = {
            f"{one['form']}, {one['rows']:.0e} rows, {one['threads']} threads": one["wall_s"] / floor
            for one in found
            if one["what"] == what and one["engine"] == "duckdb" and "wall_s" in one
            and (floor := floors.get((one["form"], one["rows"], one["threads"])))
        }  # fmt: skip
        beyond = [f"{where}: {ratio:.2f}" for where, ratio in ratios.items() if ratio > FLOOR]
        told = f" The others: {'; '.join(beyond)}." if beyond else ""
        within = f"{len(ratios) - len(beyond)} of {len(ratios)}"
        lines.append(f"`{what}` stays within {FLOOR} times a GROUP BY in {within} cases.{told}")
    return "\n".join(lines)


def _floors(found: list[dict[str, Any]]) -> dict[tuple[str, int, int], float | None]:
    return {(one["form"], one["rows"], one["threads"]): one.get("wall_s") for one in found if one["what"] == "group by"}


def _done(found: list[dict[str, Any]], what: str, engine: str) -> list[dict[str, Any]]:
    wanted = ("few", what, engine)
    return [one for one in found if (one["form"], one["what"], one["engine"]) == wanted and "wall_s" in one]


def largest(found: list[dict[str, Any]], what: str, engine: str) -> dict[str, Any]:
    return max(_done(found, what, engine), key=lambda one: (one["rows"], one["threads"]))


def memory(found: list[dict[str, Any]]) -> str:
    done = [one for one in _done(found, "prepare", "duckdb") if one["threads"] == 1]
    told = ", ".join(f"{one['peak_mb']:.0f} MB for {one['rows']:.0e} rows".replace("e+0", "e") for one in done)
    growth = done[-1]["peak_mb"] / done[0]["peak_mb"] - 1
    return (
        f"At the same number of distinct rows, `prepare` on one thread took {told}: {growth:+.0%} from first to last."
    )


def paper(found: list[dict[str, Any]]) -> str:
    one = largest(found, "prepare", "spark")
    n_bytes = one["bytes"] / one["rows"]
    rate = one["rows"] / one["wall_s"] / one["threads"]
    read, tasks = n_bytes * ROWS, n_bytes * ROWS / TASK
    distinct = largest(found, "group by", "duckdb")["distinct"]
    moved, home = tasks * distinct * FIELDS * FIELD, distinct * 4 * FIELD
    seconds = ROWS / (rate * NODES * CORES)
    cost = seconds / 3600 * NODES * PRICE
    rows = [
        ["what", "how", "how much"],
        ["bytes read", f"10¹¹ rows × {n_bytes:.1f} bytes per row, once (the target twice)", f"{read / 1e12:.1f} TB"],
        ["tasks", f"parts of files of {TASK // 2**20} MB", f"{tasks:,.0f}"],
        ["bytes moved between machines", f"{tasks:,.0f} tasks × at most {distinct:,.0f} distinct rows × "
         f"{FIELDS * FIELD} bytes", f"{moved / 1e9:,.0f} GB"],
        ["bytes returned", f"{distinct:,.0f} distinct rows × {4 * FIELD} bytes", f"{home / 1e6:.1f} MB"],
        ["time", f"10¹¹ rows ÷ ({rate / 1e6:.2f} million rows per second and core × {NODES} × {CORES} cores)",
         f"{seconds / 60:.1f} minutes"],
        ["cost", f"{NODES} machines at ${PRICE} per hour", f"${cost:.2f}"],
    ]  # fmt: skip
    return table(rows)


def harder(found: list[dict[str, Any]]) -> str:
    prepared = [one for one in found if (one["what"], one["engine"], one["threads"]) == ("prepare", "duckdb", 1)]
    of = {(one["form"], one["rows"]): one for one in prepared if "wall_s" in one}
    hard = max((one for one in of.values() if one["form"] == "measured"), key=lambda one: one["rows"])
    times = hard["wall_s"] / of["few", hard["rows"]]["wall_s"]
    return (
        "This is the best case. Where no row repeats, columns of floats are read several times: *measured* rows of "
        f"{hard['bytes'] / hard['rows']:.0f} bytes took {times:.1f} times as long."
    )


def measured_part(told: dict[str, Any]) -> str:
    found = told["measurements"]
    versions = ", ".join(f"{name} {version}" for name, version in told["versions"].items())
    return "\n\n".join([
        f"{told['machine']}; {versions}; {told['date']}. Seconds are medians, with the fastest and the slowest run.",
        table_of(found), verdict(found).replace("\n", " "), memory(found),
        "### Estimate for a hundred billion rows",
        f"Assume {NODES} machines of {CORES} cores, 30 columns, few distinct rows, and the Spark speed measured above:",
        paper(found),
        harder(found),
    ]) + "\n"  # fmt: skip
