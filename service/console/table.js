// A table with headers that sort it; rows are data, cells are text or elements.

import { h, put } from "./dom.js";

/**
 * `columns`: {name, value(row), cell(row), number, sortable}. `sorted`: {name, down}. The order
 * survives `show`, so a table that is refreshed stays as its reader wants it.
 */
export class Table {
  constructor(caption, columns, { sorted = null, most = 500, onrow = null } = {}) {
    Object.assign(this, { columns, sorted, most, onrow, rows: [] });
    this.head = h("tr");
    this.body = h("tbody");
    this.more = h("p", { class: "about" });
    this.element = h("div", { class: "table", tabindex: "0", role: "region", "aria-label": caption },
      h("table", {}, h("caption", { class: "unseen" }, caption), h("thead", {}, this.head), this.body), this.more);
    this._heads();
  }

  show(rows) {
    this.rows = rows;
    const column = this.sorted && this.columns.find((one) => one.name === this.sorted.name);
    const ordered = column ? [...rows].sort((a, b) => compare(column.value(a), column.value(b)) * (this.sorted.down ? -1 : 1)) : rows;
    put(this.body, ordered.slice(0, this.most).map((row) => this._row(row)));
    this.more.textContent = rows.length > this.most ? `${this.most} of ${rows.length} are shown.` : "";
    return this.element;
  }

  _row(row) {
    return h("tr", {}, this.columns.map((column, place) => {
      const shown = column.cell ? column.cell(row) : String(column.value(row) ?? "–");
      const kind = column.number ? "number" : "";
      return place === 0 ? h("th", { scope: "row", class: kind }, shown) : h("td", { class: kind }, shown);
    }));
  }

  _heads() {
    put(this.head, this.columns.map((column) => {
      const order = this.sorted?.name === column.name ? (this.sorted.down ? "descending" : "ascending") : null;
      const kind = column.number ? "number" : "";
      if (!column.value || column.sortable === false) return h("th", { scope: "col", class: kind }, column.name);
      const sign = order === null ? "" : order === "descending" ? " ↓" : " ↑";
      return h("th", { scope: "col", class: kind, "aria-sort": order },
        h("button", { class: "sort", onclick: () => this._sort(column) }, column.name, h("span", { "aria-hidden": "true" }, sign)));
    }));
  }

  _sort(column) {
    const again = this.sorted?.name === column.name;
    this.sorted = { name: column.name, down: again ? !this.sorted.down : Boolean(column.number) };
    this._heads();
    this.show(this.rows);
    [...this.head.children][this.columns.indexOf(column)].querySelector("button").focus();
  }
}

function compare(a, b) {
  if (typeof a === "number" || typeof b === "number") return (a ?? -Infinity) - (b ?? -Infinity);
  return String(a ?? "").localeCompare(String(b ?? ""));
}
