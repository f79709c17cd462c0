// The capabilities of a host of MCP Apps, and its page with the app, as served to a browser.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const mime = 'text/html;profile=mcp-app', uri = 'ui://planloop/review';
// renders are the capabilities of a client that shows apps.
export const renders = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [mime] } } };
// A host's policy for an app that requests no addresses.
const policy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'none'";

// bundled returns the host's script for the browser.
async function bundled(packages) {
  const { build } = createRequire(join(packages, 'x.js'))('esbuild');
  const { outputFiles } = await build({ entryPoints: [join(dirname(fileURLToPath(import.meta.url)), 'apphost.mjs')], bundle: true, format: 'esm',
    write: false, nodePaths: [packages], logLevel: 'error' });
  return outputFiles[0].text;
}

// serveHost serves the host's page and, with the policy, the app.
export async function serveHost(packages, app) {
  const files = {
    '/': ['text/html', '<!doctype html><html lang="en"><title>A host</title><main id="conversation"></main><script type="module" src="/host.js"></script>'],
    '/host.js': ['text/javascript', await bundled(packages)], '/app': ['text/html', app], '/favicon.ico': ['image/x-icon', ''],
  };
  const server = createServer((request, response) => {
    const [type, text] = files[request.url] ?? [];
    response.writeHead(type ? 200 : 404, { 'Content-Type': `${type}; charset=utf-8`, ...(request.url === '/app' && { 'Content-Security-Policy': policy }) });
    response.end(text);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { address: `http://127.0.0.1:${server.address().port}/`, stop: () => server.close() };
}
