// shared returns now with every part that equals its counterpart in before replaced by that part: the drawing compares parts by identity,
// so that only changes are redrawn. Entries of a list are matched by their ids, if they have any.
export function shared<T>(before: T, now: T): T {
  if (Object.is(before, now) || typeof before !== 'object' || typeof now !== 'object' || !before || !now) return now
  if (Array.isArray(before) !== Array.isArray(now)) return now
  const known = Array.isArray(before) ? byID(before) : undefined
  const was = before as Record<string, unknown>, is = now as Record<string, unknown>
  let same = Object.keys(was).length === Object.keys(is).length
  for (const key of Object.keys(is)) {
    const id = known && idOf(is[key])
    is[key] = shared(id ? known.get(id) : was[key], is[key])
    if (is[key] !== was[key] || !(key in was)) same = false
  }
  return same ? before : now
}

function byID(list: unknown[]): Map<string, unknown> {
  return new Map(list.map(entry => [idOf(entry) ?? '', entry]))
}

function idOf(entry: unknown): string | undefined {
  return typeof entry === 'object' && entry !== null && 'id' in entry ? String(entry.id) : undefined
}
