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
    for (const name of Attention.inputs) addEventListener(name, this.touch, { capture: true, passive: true });
  }

  end() {
    for (const name of Attention.inputs) removeEventListener(name, this.touch, { capture: true });
  }

  get isHere() {
    return !document.hidden && document.hasFocus() && performance.now() - this.last < Attention.span;
  }
}
