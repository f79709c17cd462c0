// The interface of the page and of the MCP App to the drawing: reading, acting, and notice of changes.

import { sentence } from './ui/format'
import type { Change, Done, Former, Inbox, Log, TimelineStep, UnsentText, View } from './types'

export type Input = Record<string, unknown>

export interface Source {
  kind: 'page' | 'app'
  inbox(): Promise<Inbox>
  view(workspace: string, known?: View): Promise<View> // known: the view that the page has
  former?(workspace: string, plan: string): Promise<Former>
  log(workspace: string, before?: number, former?: string): Promise<Log>
  timeline?(workspace: string): Promise<TimelineStep[]>
  tail(workspace: string, step: number): Promise<string>
  act(workspace: string, log: string, act: string, input: Input): Promise<Done> // log: of the view that the user sees
  unsent?(workspace: string): Promise<UnsentText[]> // the texts that planloop stores
  keep?(workspace: string, changed: UnsentText[]): Promise<void> // stores them
  requestCode(workspace: string): Promise<void>
  unlock(code: string): Promise<void>
  unlocked(): boolean
  forgetUnlock(): void // it was refused: it has expired
  member?: string | undefined // the signed-in member and team, on a team's server
  isAdmin?: boolean // of the team
  signOut?(): Promise<void>
  look?(token: string): Promise<void> // opens the page view only, if the connection reports that a token is needed
  // onChange reports every change, and the state of the connection: after a reconnection lost data is read again.
  onChange(listener: (c: Change) => void, connection?: (state: Connection) => void): () => void
}

export type Connection = 'live' | 'lost' | 'refused' | 'token' | 'signin'

// Fault is a refusal or a failure, in words for the user.
export class Fault extends Error {
  constructor(readonly status: number, readonly kind: string, readonly problem: string, readonly fix = '', readonly field = '') {
    super([problem, fix].filter(Boolean).map(text => sentence(text)).join(' '))
  }
}

export function asFault(e: unknown): Fault {
  if (e instanceof Fault) return e
  return new Fault(0, 'lost', 'planloop does not respond.', 'Your text is kept. The page retries automatically.')
}
