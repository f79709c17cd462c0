// The place of the keyboard focus after a key or a button.

// focus moves the focus to an element that a change is about to draw, as soon as it exists, so that further typing goes into it. Drawing
// follows a change in the same turn of the browser, or sometimes only with the next frame.
export function focus(id: string): void {
  const give = () => {
    const element = document.getElementById(id)
    element?.focus({ preventScroll: true })
    const whole = element?.closest('.line') ?? element
    whole?.scrollIntoView({ block: 'nearest' })
    return !!element
  }
  void Promise.resolve().then(() => {}).then(() => { if (!give()) requestAnimationFrame(give) })
}
