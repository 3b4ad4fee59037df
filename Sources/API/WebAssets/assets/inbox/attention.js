// Whether a person is at the page: it has the focus, and there was an input a moment ago.

class Attention {
  static span = 30_000;
  static inputs = ["pointerdown", "pointermove", "keydown", "wheel", "touchmove"];

  /** `came()` is called at the first input after a pause. */
  constructor(came) {
    this.touch = () => {
      const wasHere = this.isHere;
      this.last = performance.now();
      if (!wasHere) came();
    };
    this.last = -Infinity;
    this.ending = new AbortController();
    const options = { capture: true, passive: true, signal: this.ending.signal };
    for (const name of Attention.inputs) addEventListener(name, this.touch, options);
  }

  end() {
    this.ending.abort();
  }

  get isHere() {
    return !document.hidden && document.hasFocus() && performance.now() - this.last < Attention.span;
  }
}
