// The user's place, kept in the address bar: workspace, earlier plan if any, view and chosen step. It survives a reload, and Back works.

import { batch, effect } from '@preact/signals'
import { former, open, openFormer, type Pane, pane, selected, workspace } from './store'

const panes: readonly Pane[] = ['plan', 'graph', 'difference', 'run', 'log']

export interface Place { workspace: string; plan: string; pane: Pane; step: number }

export function written({ workspace, plan, pane, step }: Place): string {
  return '#' + new URLSearchParams({ workspace, ...(plan && { plan }), ...(pane !== 'plan' && { view: pane }), ...(step && { step: String(step) }) }).toString()
}

// placeIn parses a place, undefined if the hash contains none; a launch code is not a place.
export function placeIn(hash: string): Place | undefined {
  const said = new URLSearchParams(hash.slice(1)), workspace = said.get('workspace'), step = Number(said.get('step'))
  if (!workspace || said.has('enter')) return undefined
  return { workspace, plan: said.get('plan') ?? '', pane: panes.find(p => p === said.get('view')) ?? 'plan', step: Number.isSafeInteger(step) && step > 0 ? step : 0 }
}

const soon = 200 // ms: skimming through the steps leaves no history entries

// keepPlace follows the address bar, and updates it when the user moves on.
export function keepPlace(w: Window): void {
  const go = () => {
    const to = placeIn(w.location.hash)
    if (to) batch(() => {
      open(to.workspace)
      openFormer(to.plan)
      pane.value = to.pane
      selected.value = to.step
    })
  }
  go()
  w.addEventListener('popstate', go)
  let later: number | undefined
  effect(() => {
    const now: Place = { workspace: workspace.value, plan: former.value, pane: pane.value, step: selected.value }, was = placeIn(w.location.hash)
    w.clearTimeout(later)
    if (!now.workspace || was && written(was) === written(now)) return
    const moved = was && (was.workspace !== now.workspace || was.plan !== now.plan || was.pane !== now.pane)
    if (moved) w.history.pushState(null, '', written(now))
    else later = w.setTimeout(() => w.history.replaceState(null, '', written(now)), was ? soon : 0)
  })
}
