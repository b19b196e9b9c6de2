// A table that stays smooth with thousands of rows: only those in sight are drawn.

import { useMemo, useRef, useState } from "preact/hooks";

const kRow = 36; // pixels, as in style.css
const kBeyond = 8; // rows that are drawn beyond those in sight

// `columns`: {key, title, value(row) for sorting, cell(row), numeric, minor}. Minor
// columns go on a narrow screen. `keyOf(row)` names a row.
export function Table({ label, rows, columns, keyOf, sort: initial, rowClass, height = 432 }) {
  const [sort, setSort] = useState(initial ?? { key: columns[0].key, down: false });
  const [top, setTop] = useState(0);
  const frame = useRef(0);
  const sorted = useMemo(() => {
    const { value } = columns.find((column) => column.key === sort.key) ?? columns[0];
    const sign = sort.down ? -1 : 1;
    return [...rows].sort((a, b) => {
      const x = value(a);
      const y = value(b);
      if (x === y) return keyOf(a) < keyOf(b) ? -1 : 1;
      if (x === undefined || x === null) return 1;
      if (y === undefined || y === null) return -1;
      return x < y ? -sign : sign;
    });
  }, [rows, sort.key, sort.down]);

  const first = Math.max(0, Math.min(Math.floor(top / kRow), sorted.length) - kBeyond);
  const last = Math.min(sorted.length, Math.ceil((top + height) / kRow) + kBeyond);
  const onScroll = (event) => {
    const { scrollTop } = event.currentTarget;
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => setTop(scrollTop));
  };
  const gap = (count) => count > 0 && (
    <tr aria-hidden="true" class="gap">
      <td colSpan={columns.length} style={{ height: `${count * kRow}px` }} />
    </tr>
  );
  return (
    <div class="table" tabIndex={0} role="region" aria-label={label} style={{ maxHeight: `${height}px` }} onScroll={onScroll}>
      <table aria-rowcount={sorted.length + 1}>
        <thead>
          <tr>
            {columns.map((column) => {
              const is = sort.key === column.key;
              return (
                <th
                  key={column.key}
                  scope="col"
                  class={`${column.numeric ? "number" : ""} ${column.minor ? "minor" : ""}`}
                  aria-sort={is ? (sort.down ? "descending" : "ascending") : undefined}
                >
                  {column.unsorted ? column.title : (
                    <button
                      type="button"
                      class="sort"
                      onClick={() => setSort({ key: column.key, down: is ? !sort.down : Boolean(column.numeric) })}
                    >
                      {column.title}
                      <span aria-hidden="true">{is ? (sort.down ? " ↓" : " ↑") : ""}</span>
                    </button>
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {gap(first)}
          {sorted.slice(first, last).map((row, k) => (
            <tr key={keyOf(row)} aria-rowindex={first + k + 2} class={rowClass?.(row)}>
              {columns.map((column, n) => {
                const kind = `${column.numeric ? "number" : ""} ${column.minor ? "minor" : ""}`;
                return n === 0 ? (
                  <th key={column.key} scope="row" class={kind}>{column.cell(row)}</th>
                ) : (
                  <td key={column.key} class={kind}>{column.cell(row)}</td>
                );
              })}
            </tr>
          ))}
          {gap(sorted.length - last)}
        </tbody>
      </table>
    </div>
  );
}
