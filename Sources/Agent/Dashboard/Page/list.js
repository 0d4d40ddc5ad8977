// A list of any length of which only the visible rows are in the document.

const spare = 6; // rows kept above and below the visible ones, for smooth scrolling and the Tab key

export class WindowedList {
  /**
   * @param element the `ul` that holds the rows
   * @param options `compare(a, b)` orders the items, `makeRow()` returns an empty row, `fillRow(row, item)` shows an
   *   item in it, and `onEnd()` is called when the end of the items comes into view. Items have an `id`.
   */
  constructor(element, options) {
    Object.assign(this, options, { element, items: [], byId: new Map(), rows: new Map(), stale: new Set(), total: 0 });
    this.height = 0;
    this.current = null; // the id of the row that the Tab key reaches
    addEventListener("scroll", () => this.schedule(), { passive: true });
    addEventListener("resize", () => { this.height = 0; this.schedule(); });
    element.addEventListener("keydown", (event) => this.handleKey(event));
    element.addEventListener("focusin", (event) => this.setCurrent(event.target.closest("li")?.dataset.id));
  }

  /** Replaces all items; they need not be sorted. */
  replace(items, compare = this.compare) {
    this.compare = compare;
    this.items = [...items].sort(compare);
    this.byId = new Map(items.map((item) => [item.id, item]));
    this.anchor = null;
    for (const id of this.rows.keys()) this.stale.add(id);
    this.schedule();
  }

  /** Adds an item; one that is present already is replaced. */
  put(item) {
    this.remove(item.id);
    this.byId.set(item.id, item);
    this.items.splice(this.position(item), 0, item);
    this.stale.add(item.id);
    this.schedule();
  }

  /** Changes an item without moving it if its place stays the same. */
  update(item) {
    const before = this.byId.get(item.id);
    if (before && this.compare(before, item) === 0) {
      const index = this.indexOf(before);
      if (index >= 0) {
        this.items[index] = item;
        this.byId.set(item.id, item);
        this.stale.add(item.id);
        this.schedule();
        return;
      }
    }
    this.put(item);
  }

  remove(id) {
    const item = this.byId.get(id);
    if (!item) return;
    const index = this.indexOf(item);
    if (index >= 0) this.items.splice(index, 1);
    this.byId.delete(id);
    this.schedule();
  }

  refresh(id) {
    this.stale.add(id);
    this.schedule();
  }

  /** The index before which an item belongs: behind all items that compare lower. */
  position(item) {
    let low = 0;
    let high = this.items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.compare(this.items[middle], item) < 0) low = middle + 1; else high = middle;
    }
    return low;
  }

  indexOf(item) {
    for (let index = this.position(item); index < this.items.length; index += 1) {
      if (this.items[index].id === item.id) return index;
      if (this.compare(this.items[index], item) !== 0) break;
    }
    return this.items.findIndex((other) => other.id === item.id);
  }

  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.render();
    });
  }

  render() {
    if (this.element.offsetParent === null && !this.element.getClientRects().length) return;
    if (!this.height) this.height = parseFloat(getComputedStyle(this.element).getPropertyValue("--row"));
    this.keepPlace();
    this.element.style.height = `${this.items.length * this.height}px`;
    const top = -this.element.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(top / this.height) - spare);
    const end = Math.min(this.items.length, Math.ceil((top + innerHeight) / this.height) + spare);
    const wanted = new Map();
    for (let index = first; index < end; index += 1) wanted.set(this.items[index].id, index);
    this.keepFocus(wanted);
    // If the row with the focus has left the list, the next one takes over.
    const focused = document.activeElement?.closest("li");
    const left = this.element.contains(focused) && !this.byId.has(focused.dataset.id);
    this.place(wanted);
    if (left) this.focus(focused.getAttribute("aria-posinset") - 1);
    if (end >= this.items.length - 3 * spare) this.onEnd();
  }

  /** Scrolls along if rows came or went above the first visible one, so that the visible ones stay where they are. */
  keepPlace() {
    const top = -this.element.getBoundingClientRect().top;
    const before = this.anchorIndex;
    const item = this.byId.get(this.anchor);
    if (top > 0 && item && before !== undefined) {
      const moved = this.indexOf(item) - before;
      if (moved) {
        this.element.style.height = `${this.items.length * this.height}px`;
        scrollBy({ top: moved * this.height, behavior: "instant" });
      }
    }
    const index = Math.max(0, Math.floor(-this.element.getBoundingClientRect().top / this.height));
    this.anchorIndex = Math.min(index, Math.max(0, this.items.length - 1));
    this.anchor = this.items[this.anchorIndex]?.id;
  }

  /** The row with the focus stays in the document, or the next press of a key would go nowhere. */
  keepFocus(wanted) {
    const id = document.activeElement?.closest?.("li")?.dataset.id;
    const item = id && this.rows.has(id) && this.byId.get(id);
    if (item && !wanted.has(id)) wanted.set(id, this.indexOf(item));
  }

  place(wanted) {
    for (const [id, row] of this.rows) {
      if (wanted.has(id)) continue;
      row.remove();
      this.rows.delete(id);
    }
    if (!this.current || !wanted.has(this.current)) this.current = wanted.keys().next().value ?? null;
    let next = this.element.firstElementChild;
    const focused = document.activeElement;
    for (const [id, index] of [...wanted].sort((a, b) => a[1] - b[1])) {
      let row = this.rows.get(id);
      if (!row) {
        row = this.makeRow();
        row.dataset.id = id;
        this.rows.set(id, row);
        this.stale.add(id);
      }
      if (row === next) next = row.nextElementSibling; else this.element.insertBefore(row, next);
      if (this.stale.delete(id)) this.fillRow(row, this.items[index]);
      row.style.transform = `translateY(${index * this.height}px)`;
      row.setAttribute("aria-posinset", index + 1);
      row.setAttribute("aria-setsize", Math.max(this.total, this.items.length));
      row.tabIndex = id === this.current ? 0 : -1;
    }
    this.stale.clear();
    if (focused && focused !== document.activeElement && this.element.contains(focused)) focused.focus({ preventScroll: true });
  }

  setCurrent(id) {
    if (!id || id === this.current) return;
    const before = this.rows.get(this.current);
    if (before) before.tabIndex = -1;
    this.current = id;
    const row = this.rows.get(id);
    if (row) row.tabIndex = 0;
  }

  /** Arrow keys, Page Up and Down, Home and End move the focus from row to row. */
  handleKey(event) {
    const row = event.target.closest("li");
    if (!row) return;
    const index = this.indexOf(this.byId.get(row.dataset.id) ?? {});
    const page = Math.max(1, Math.floor(innerHeight / this.height) - 1);
    const target = {
      ArrowDown: index + 1, ArrowUp: index - 1, PageDown: index + page, PageUp: index - page,
      Home: 0, End: this.items.length - 1,
    }[event.key];
    if (target === undefined || index < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.focus(target);
  }

  /** Moves the focus to the row nearest to an index; without any row, to the part of the page. */
  focus(wanted) {
    const index = Math.max(0, Math.min(wanted, this.items.length - 1));
    if (!this.items.length) { this.element.closest("main").focus({ preventScroll: true }); return; }
    const top = this.element.getBoundingClientRect().top + index * this.height;
    const head = 120; // what sticks to the top of the page
    if (top < head) scrollBy({ top: top - head, behavior: "instant" });
    else if (top + this.height > innerHeight - 20) scrollBy({ top: top + this.height - innerHeight + 20, behavior: "instant" });
    this.current = this.items[index].id;
    this.render();
    this.rows.get(this.current)?.focus({ preventScroll: true });
  }
}
