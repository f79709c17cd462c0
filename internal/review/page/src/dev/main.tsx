// The page with sample plans, for its developers.

import { render } from 'preact'
import { arrangeBy, byWorker } from '../graph/arrange'
import { listen } from '../keys'
import { begin, open, pane, type Pane } from '../store'
import { Shell } from '../ui/shell'
import { fixtureSource } from './fixture'

arrangeBy(byWorker('/graph.js'))
const place = document.getElementById('page')
if (place) render(<Shell />, place)
listen(document)
begin(fixtureSource())
const [workspace, shown] = location.hash.slice(1).split('/') // #ws-large/graph
if (workspace) open(workspace)
if (shown) pane.value = shown as Pane
