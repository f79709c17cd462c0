// The places of a plan's steps in its picture, and the lines between them: a pure function, so that a worker, the main thread and a test
// can call it alike.
import { coordCenter, decrossDfs, decrossTwoLayer, graph, layeringLongestPath, layeringSimplex, sugiyama, twolayerAgg } from 'd3-dag'

// A step as the layout knows it: its number and the numbers of the steps it waits for.
export interface Knot { n: number; after: readonly number[] }

// A step's place: the middle of its box.
export interface Spot { n: number; x: number; y: number }

// A line from a step to one that waits for it, as the path of an SVG.
export interface Line { from: number; to: number; d: string }

export interface Layout {
  width: number
  height: number
  box: Box
  across: boolean // from left to right; otherwise from top to bottom
  grid: boolean // too many steps for a picture of dependencies: they keep the plan's order
  spots: Spot[]
  lines: Line[]
}

export interface Box { width: number; height: number; roomy: boolean }

const card: Box = { width: 208, height: 58, roomy: true } // with the title
const pill: Box = { width: 66, height: 30, roomy: false } // only the number, until one zooms in
const mostCards = 60 // as many in arrange.ts
const legible = 0.5 // the scale below which the text of a card is unreadable
const mostLayered = 1000
const mostExact = 100 // larger graphs get fewer, cheaper passes against crossings
const margin = 14
const apart = 28 // between unconnected parts

export interface Room { width: number; height: number }

// layout places the steps in a picture for the given room.
export function layout(steps: readonly Knot[], room: Room): Layout {
  const aspect = room.width / room.height
  if (steps.length > mostLayered) return grid(steps, aspect, pill)
  const after = essential(steps)
  const parts = components(steps, after)
  const drawn = (box: Box, across: boolean) => pack(parts.map((part) => layered(part, after, box, across, aspect)), box, across, aspect)
  if (steps.length <= mostCards) {
    const cards = best([drawn(card, false), drawn(card, true)], aspect)
    if (Math.min(room.width / cards.width, room.height / cards.height) >= legible) return cards
    return best([drawn(pill, false), drawn(pill, true)], aspect)
  }
  return drawn(pill, false)
}

// best returns the candidate that can be shown largest.
function best<T extends { width: number; height: number }>(all: T[], aspect: number): T {
  const scale = (one: T) => Math.min(aspect / one.width, 1 / one.height)
  return all.reduce((a, b) => (scale(b) > scale(a) ? b : a))
}

type Edges = Map<number, number[]>

// essential leaves out unknown steps, cycles, and implied dependencies: if 3 waits for 2 and 2 for 1, a line from 1 to 3 is redundant.
export function essential(steps: readonly Knot[]): Edges {
  const index = new Map(steps.map((step, i) => [step.n, i]))
  const words = (steps.length >> 5) + 1
  const before = new Map<number, Uint32Array>() // of each step, as bits, all that comes before it
  const kept: Edges = new Map()
  for (const step of sorted(steps)) {
    const own = [...new Set(step.after)].filter((n) => before.has(n))
    const far = new Uint32Array(words)
    for (const n of own) before.get(n)!.forEach((bits, i) => { far[i]! |= bits })
    const has = (n: number) => (far[index.get(n)! >> 5]! >>> (index.get(n)! & 31)) & 1
    kept.set(step.n, own.filter((n) => !has(n)))
    for (const n of own) far[index.get(n)! >> 5]! |= 1 << (index.get(n)! & 31)
    before.set(step.n, far)
  }
  return kept
}

// sorted returns each step after those it waits for, otherwise in the plan's order; a cycle comes last.
function sorted(steps: readonly Knot[]): Knot[] {
  const known = new Map(steps.map((step) => [step.n, step]))
  const open = new Map(steps.map((step) => [step.n, new Set(step.after.filter((n) => n !== step.n && known.has(n))).size]))
  const next = new Map<number, Knot[]>()
  for (const step of steps) for (const n of new Set(step.after)) next.set(n, [...(next.get(n) ?? []), step])
  const ready = steps.filter((step) => open.get(step.n) === 0)
  for (let i = 0; i < ready.length; i++) {
    for (const step of next.get(ready[i]!.n) ?? []) {
      if (step.n === ready[i]!.n) continue
      const left = open.get(step.n)! - 1
      open.set(step.n, left)
      if (left === 0) ready.push(step)
    }
  }
  const reached = new Set(ready)
  return [...ready, ...steps.filter((step) => !reached.has(step))]
}

// components returns the connected parts, each in the plan's order.
function components(steps: readonly Knot[], after: Edges): number[][] {
  const root = new Map(steps.map((step) => [step.n, step.n]))
  const find = (n: number): number => {
    while (root.get(n) !== n) { root.set(n, root.get(root.get(n)!)!); n = root.get(n)! }
    return n
  }
  for (const [n, list] of after) for (const m of list) root.set(find(n), find(m))
  const parts = new Map<number, number[]>()
  for (const step of steps) {
    const at = find(step.n)
    parts.set(at, [...(parts.get(at) ?? []), step.n])
  }
  return [...parts.values()]
}

// gaps returns the space between boxes of one layer, and between layers.
function gaps(box: Box, across: boolean): [number, number] {
  if (!box.roomy) return across ? [12, 26] : [12, 22]
  return across ? [20, 44] : [24, 38]
}

type Point = [number, number]
interface Part { width: number; height: number; spots: Spot[]; lines: { from: number; to: number; d: (dx: number, dy: number) => string }[] }

// layered draws one part in layers: u runs along a layer, v from layer to layer.
function layered(part: number[], after: Edges, box: Box, across: boolean, aspect: number): Part {
  const drawn = graph<number, undefined>()
  const nodes = new Map(part.map((n) => [n, drawn.node(n)]))
  for (const n of part) for (const m of after.get(n)!) drawn.link(nodes.get(m)!, nodes.get(n)!)
  const size: Point = across ? [box.height, box.width] : [box.width, box.height]
  const gap = gaps(box, across)
  const decross = part.length > mostExact
    ? decrossTwoLayer().order(twolayerAgg()).inits([decrossDfs()]).passes(4)
    : decrossTwoLayer()
  const layering = part.length > mostExact ? layeringLongestPath() : layeringSimplex()
  const whole = sugiyama().layering(layering).decross(decross).coord(coordCenter())
    .nodeSize(size).gap(gap)(drawn)
  if (backwards([...drawn.nodes()].map((n) => ({ n: n.data, x: n.x, y: n.y })))) {
    for (const n of drawn.nodes()) n.x = whole.width - n.x
    for (const line of drawn.links()) line.points = line.points.map(([u, v]) => [whole.width - u, v])
  }
  const step = size[1] + gap[1]
  const layerOf = (v: number) => Math.round((v - size[1] / 2) / step)
  const fold = folded([...drawn.nodes()].map((n): Point => [n.x, layerOf(n.y)]), layerOf(whole.height - size[1] / 2) + 1, size, gap, across ? 1 / aspect : aspect)
  const at = ([u, v]: Point): Place => fold.place(u, layerOf(v))
  const turn = (p: Point): Point => (across ? [p[1], p[0]] : p)
  const spots = [...drawn.nodes()].map((n) => {
    const [x, y] = turn(at([n.x, n.y]).at)
    return { n: n.data, x, y }
  })
  const lines = [...drawn.links()].map(({ source, target, points }) => ({
    from: source.data, to: target.data,
    d: (dx: number, dy: number) => curve(points.map(at), size[1], gap, (p) => { const [x, y] = turn(p); return [x + dx, y + dy] }),
  }))
  const [width, height] = turn([fold.width, fold.height])
  return { width, height, spots, lines }
}

// backwards reports whether mirroring puts more neighbours in the plan's order.
function backwards(spots: Spot[]): boolean {
  const rows = spots.sort((a, b) => a.y - b.y || a.x - b.x)
  let against = 0
  for (let i = 1; i < rows.length; i++) if (rows[i]!.y === rows[i - 1]!.y) against += rows[i]!.n < rows[i - 1]!.n ? 1 : -1
  return against > 0
}

interface Place { at: Point; band: number; gutter: number; top: number; bottom: number }
interface Fold { width: number; height: number; place: (u: number, layer: number) => Place }

// folded splits the layers of a part that is far too long for the picture into columns, as in a newspaper.
function folded(all: Point[], layers: number, size: Point, gap: Point, aspect: number): Fold {
  const most = Math.min(Math.floor(layers / 5), 60)
  const folds = [inColumns(all, layers, layers, size, gap)]
  for (let n = 2; n <= most; n++) folds.push(inColumns(all, layers, Math.ceil(layers / n), size, gap))
  return best(folds, aspect)
}

function inColumns(all: Point[], layers: number, each: number, size: Point, gap: Point): Fold {
  const step = size[1] + gap[1]
  const columns = Array.from({ length: Math.ceil(layers / each) }, () => ({ low: Infinity, high: -Infinity, left: 0 }))
  for (const [u, layer] of all) {
    const column = columns[Math.floor(layer / each)]!
    column.low = Math.min(column.low, u - size[0] / 2)
    column.high = Math.max(column.high, u + size[0] / 2)
  }
  const gutter = gap[0] * 3
  let left = 0
  for (const column of columns) { column.left = left; left += column.high - column.low + gutter }
  const edge = columns.length > 1 ? gap[1] / 2 : 0 // room above and below for lines that continue in the next column
  const height = each * step - gap[1] + 2 * edge
  const place = (u: number, layer: number): Place => {
    const band = Math.min(Math.floor(layer / each), columns.length - 1), column = columns[band]!
    const inside = Math.min(Math.max(u, column.low - gap[0] / 2), column.high + gap[0] / 2) // a long line may run beside its column
    return {
      at: [column.left + inside - column.low, edge + (layer - band * each) * step + size[1] / 2],
      band, gutter: column.left - gutter / 2, top: edge / 2, bottom: height - edge / 2,
    }
  }
  return { width: left - gutter, height, place }
}

const short = (x: number) => String(Math.round(x * 10) / 10)

// curve leads a line through its places; it crosses a layer straight, so that it touches no box.
function curve(places: Place[], box: number, gap: Point, turn: (p: Point) => Point): string {
  const text = (...points: Point[]) => points.map((p) => turn(p).map(short).join(' ')).join(' ')
  const half = box / 2
  let d = ''
  places.forEach((to, i) => {
    const from = places[i - 1]
    if (!from) {
      d = 'M' + text([to.at[0], to.at[1] + half])
      return
    }
    const [u0, v0] = [from.at[0], from.at[1] + half], [u1, v1] = [to.at[0], to.at[1] - half]
    if (from.band === to.band) {
      const mid = (v0 + v1) / 2
      d += u0 === u1 ? 'L' + text([u1, v1]) : 'C' + text([u0, mid], [u1, mid], [u1, v1])
    } else {
      d += around(from, to, u0, u1, v1, Math.min(6, gap[1] / 4), text)
    }
    if (i < places.length - 1) d += 'L' + text([u1, v1 + box])
  })
  return d
}

// around leads from the end of one column through the gap to the head of the next.
function around(from: Place, to: Place, u0: number, u1: number, v1: number, r: number, text: (...p: Point[]) => string): string {
  const corners: Point[] = [[u0, from.bottom], [to.gutter, from.bottom], [to.gutter, to.top], [u1, to.top], [u1, v1]]
  let d = ''
  for (let i = 0; i < corners.length - 1; i++) {
    const before = corners[i - 1] ?? [u0, from.at[1]], here = corners[i]!, next = corners[i + 1]!
    d += 'L' + text(towards(here, before, r)) + 'Q' + text(here, towards(here, next, r))
  }
  return d + 'L' + text([u1, v1])
}

function towards([u, v]: Point, [u2, v2]: Point, most: number): Point {
  const far = Math.hypot(u2 - u, v2 - v)
  if (far === 0) return [u, v]
  const r = Math.min(most, far / 2)
  return [u + ((u2 - u) / far) * r, v + ((v2 - v) / far) * r]
}

// pack places the parts side by side, the large ones first: isolated steps fill the gaps.
function pack(unsorted: Part[], box: Box, across: boolean, aspect: number): Layout {
  const parts = unsorted.toSorted((a, b) => b.spots.length - a.spots.length)
  const area = parts.reduce((sum, part) => sum + (part.width + apart) * (part.height + apart), 0)
  const widest = Math.max(0, ...parts.map((part) => part.width))
  const tries = [0.9, 1, 1.1, 1.25, 1.5, 2].map((more) => beside(parts, Math.max(Math.sqrt(area * aspect) * more, widest)))
  const { width, height, corners } = best(tries, aspect)
  const result: Layout = { width, height, box, across, grid: false, spots: [], lines: [] }
  parts.forEach((part, i) => {
    const [dx, dy] = corners[i]!
    for (const spot of part.spots) result.spots.push({ n: spot.n, x: spot.x + dx, y: spot.y + dy })
    for (const line of part.lines) result.lines.push({ from: line.from, to: line.to, d: line.d(dx, dy) })
  })
  return result
}

// beside puts each part as high up as it fits within a width, and then as far left: along the outline of the parts placed before.
function beside(parts: Part[], room: number): { width: number; height: number; corners: Point[] } {
  let outline = [{ x: 0, y: 0 }] // from x on, the free space begins at y
  let width = 0, height = 0
  const corners = parts.map((part): Point => {
    const far = (x: number) => x + part.width + apart
    const top = (x: number) => Math.max(...outline.filter((at, i) => at.x < far(x) && (outline[i + 1]?.x ?? Infinity) > x).map((at) => at.y))
    const fits = outline.map(({ x }) => x).filter((x) => x === 0 || x + part.width <= room)
    const x = fits.reduce((a, b) => (top(b) < top(a) ? b : a))
    const y = top(x), after = outline.findLast((at) => at.x <= far(x))!.y
    outline = [...outline.filter((at) => at.x < x), { x, y: y + part.height + apart }, ...outline.filter((at) => at.x > far(x))]
    if (!outline.some((at) => at.x === far(x))) outline.push({ x: far(x), y: after })
    outline.sort((a, b) => a.x - b.x)
    width = Math.max(width, x + part.width)
    height = Math.max(height, y + part.height)
    return [x + margin, y + margin]
  })
  return { width: width + 2 * margin, height: height + 2 * margin, corners }
}

// grid arranges the steps in rows in the plan's order, with straight lines.
function grid(steps: readonly Knot[], aspect: number, box: Box): Layout {
  const [w, h] = [box.width + 12, box.height + 12]
  const columns = Math.max(1, Math.round(Math.sqrt((steps.length * aspect * h) / w)))
  const spots = steps.map((step, i) => ({
    n: step.n, x: margin + box.width / 2 + (i % columns) * w, y: margin + box.height / 2 + Math.floor(i / columns) * h,
  }))
  const where = new Map(spots.map((spot) => [spot.n, spot]))
  const lines: Line[] = []
  for (const step of steps) {
    for (const n of new Set(step.after)) {
      const from = where.get(n), to = where.get(step.n)!
      if (from && from !== to) lines.push({ from: n, to: step.n, d: `M${short(from.x)} ${short(from.y)}L${short(to.x)} ${short(to.y)}` })
    }
  }
  return {
    width: 2 * margin + Math.min(columns, steps.length) * w - 12, height: 2 * margin + Math.ceil(steps.length / columns) * h - 12,
    box, across: false, grid: true, spots, lines,
  }
}
