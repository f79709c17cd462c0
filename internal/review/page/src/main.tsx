// The entry of the page.

import { render } from 'preact'
import { arrangeBy, byWorker } from './graph/arrange'
import { enter, httpSource, launched } from './http'
import { listen } from './keys'
import { keepPlace } from './location'
import { asFault } from './source'
import { begin, fault } from './store'
import { Shell } from './ui/shell'

const entered = enter() // takes the code out of the address bar before anything else
arrangeBy(byWorker('/graph.js'))
const place = document.getElementById('page')
if (place) render(<Shell />, place)
listen(document)
entered.catch((e: unknown) => { fault.value = asFault(e) }).finally(() => {
  begin(httpSource())
  keepPlace(window)
})
addEventListener('hashchange', () => { if (launched()) enter().then(() => location.reload(), (e: unknown) => { fault.value = asFault(e) }) }) // a link into this very tab
