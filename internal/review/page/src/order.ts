// The places that a step may move to: after all steps it waits for, and before all that wait for it.

export interface Ordered { number: number; title: string; depends_on?: readonly number[] }

// A Gap is a place for a step: after the step with this number, or first for 0. Without a reason it is allowed.
export interface Gap { after: number; why: string; here: boolean }

// gaps returns all places in a plan, in order, for one of its steps; here marks its present place.
export function gaps(steps: readonly Ordered[], moved: number): Gap[] {
  const from = steps.findIndex(step => step.number === moved)
  if (from < 0) return []
  const needs = new Set(steps[from]!.depends_on)
  const rest = steps.filter(step => step.number !== moved)
  const latestNeed = rest.findLastIndex(step => needs.has(step.number))
  const firstWaiting = rest.findIndex(step => step.depends_on?.includes(moved))
  const last = firstWaiting < 0 ? rest.length : firstWaiting
  return Array.from({ length: rest.length + 1 }, (_, at): Gap => ({
    after: rest[at - 1]?.number ?? 0,
    here: at === from,
    why: at === from ? '' : at <= latestNeed ? `${moved} waits for ${rest[latestNeed]!.number}`
      : at > last ? `${rest[firstWaiting]!.number} waits for ${moved}` : '',
  }))
}

// next returns the nearest place above (-1) or below (1); one that is not allowed has a reason.
export function next(steps: readonly Ordered[], moved: number, way: -1 | 1): Gap | undefined {
  const all = gaps(steps, moved)
  return all[all.findIndex(gap => gap.here) + way]
}
