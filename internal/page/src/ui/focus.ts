// Where the keyboard goes after a press of a key or a button.

// focus gives it to an element that is drawn because of what was just changed: as soon as it is there, so that what is typed
// next goes into it. What is drawn follows a change in the same turn of the browser, and sometimes only with the next picture.
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
