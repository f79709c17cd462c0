// Builds dist from src. `node build.mjs --serve` serves the page with made-up plans instead, for developers.

import { build, context } from 'esbuild'
import { createHash } from 'node:crypto'
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'

const options = {
  bundle: true, format: 'esm', target: ['es2022'], jsx: 'automatic', jsxImportSource: 'preact', charset: 'utf8',
  logLevel: 'warning', legalComments: 'none', define: { 'process.env.NODE_ENV': '"production"' },
}

if (process.argv.includes('--serve')) {
  await mkdir('dev', { recursive: true })
  await cp('src/index.html', 'dev/index.html')
  await cp('src/icon.svg', 'dev/icon.svg')
  const dev = await context({
    ...options, sourcemap: 'inline', outdir: 'dev',
    entryPoints: [{ in: 'src/dev/main.tsx', out: 'page' }, { in: 'src/graph/worker.ts', out: 'graph' }, { in: 'src/style.css', out: 'page' }],
  })
  const { port } = await dev.serve({ servedir: 'dev', host: '127.0.0.1', port: Number(process.env.PORT ?? 8123) })
  console.log(`http://127.0.0.1:${port}/`)
} else {
  await rm('dist', { recursive: true, force: true })
  await mkdir('dist')
  const { metafile } = await build({ ...options, minify: true, outfile: 'dist/page.js', entryPoints: ['src/main.tsx'], metafile: true })
  const graph = await build({ ...options, minify: true, outfile: 'dist/graph.js', format: 'iife', entryPoints: ['src/graph/worker.ts'], metafile: true })
  await build({ ...options, minify: true, outfile: 'dist/page.css', entryPoints: ['src/style.css'] })
  await build({ ...options, minify: true, outfile: 'dist/app.js', entryPoints: ['src/app.tsx'] })
  await cp('src/index.html', 'dist/index.html')
  await cp('src/icon.svg', 'dist/icon.svg')
  await writeFile('dist/app.html', await app())
  await rm('dist/app.js')
  await writeFile('dist/sources.sha256', await sources())
  await writeFile('THIRD_PARTY_LICENSES', await licences({ ...metafile.inputs, ...graph.metafile.inputs }))
}

// licences returns the licences of the packages that are part of the page.
async function licences(inputs) {
  const folders = new Set(Object.keys(inputs).map(file => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]).filter(Boolean))
  const texts = await Promise.all([...folders].map(async folder => {
    const { name, version } = JSON.parse(await readFile(`${folder}/package.json`, 'utf8'))
    const file = (await readdir(folder)).find(f => /^licen[sc]e/i.test(f))
    return `== ${name}@${version}: ${file}\n\n${(await readFile(`${folder}/${file}`, 'utf8')).trim()}\n\n`
  }))
  return texts.sort().join('')
}

// app returns the whole MCP App as one file, because a host lets it load nothing.
async function app() {
  const [shell, script, style] = await Promise.all(['src/app.html', 'dist/app.js', 'dist/page.css'].map(f => readFile(f, 'utf8')))
  return shell.replace('/*style*/', () => style.trim()).replace('/*script*/', () => script.trim().replaceAll('</script', '<\\/script'))
}

// sources returns the hash of dist's sources. A test in Go compares it, without Node, to find that dist is out of date.
async function sources() {
  const files = (await readdir('src', { recursive: true, withFileTypes: true }))
    .filter(f => f.isFile() && f.name !== 'types.ts' && !f.parentPath.startsWith('src/dev'))
    .map(f => `${f.parentPath}/${f.name}`).sort()
  const sum = createHash('sha256')
  for (const file of [...files, 'build.mjs', 'package-lock.json']) sum.update(file + '\0').update(await readFile(file)).update('\0')
  return sum.digest('hex') + '\n'
}
