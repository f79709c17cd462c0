// A view from the server may have only the steps that changed since the view that the page has: see review.View.Since.

import type { Plan, View } from './types'

// whole returns a view with all steps.
export function whole(got: View, known: View | undefined): View {
  if (got.plan?.only_changed) got.plan = filled(got.plan, known?.plan)
  if (got.draft?.plan.only_changed) got.draft.plan = filled(got.draft.plan, known?.draft?.plan)
  return got
}

function filled({ only_changed, ...plan }: Plan, known: Plan | undefined): Plan {
  const changed = new Map(plan.steps.map(s => [s.id, s]))
  return { ...plan, steps: known?.steps.map(s => changed.get(s.id) ?? s) ?? [] }
}
