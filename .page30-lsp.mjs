import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createProtocolConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-languageserver-protocol/node';
const folder = process.argv[2]; const file = process.argv[3];
const server = spawn(process.execPath, ['/work/wt/page30/dist/server/cli/main.js','lsp','--stdio']);
server.stderr.pipe(process.stderr);
const cpu = ()=>{const f=readFileSync(`/proc/${server.pid}/stat`,'utf8').split(') ')[1].split(' ');return (Number(f[11])+Number(f[12]))*10};
const c = createProtocolConnection(new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin));
let got=[]; c.onNotification('textDocument/publishDiagnostics', p=>got.push([performance.now(),p.uri.split('/').slice(-2).join('/'),p.diagnostics.length,p.diagnostics[0]?.code]));
c.onNotification('window/logMessage', p=>console.log('LOG',p.message));
c.listen();
await c.sendRequest('initialize',{processId:process.pid,rootUri:pathToFileURL(folder).href,capabilities:{}}); await c.sendNotification('initialized',{});
const uri=pathToFileURL(join(folder,file)).href; const text=readFileSync(join(folder,file),'utf8');
const sleep=(ms)=>new Promise(r=>setTimeout(r,ms));
await c.sendNotification('textDocument/didOpen',{textDocument:{uri,languageId:'yaml',version:1,text}});
await sleep(Number(process.argv[4]??3000)); console.log('opened', cpu()); 
let v=1;
for (const t of [text.replace(/scopes:/,'skopes:'), text, text.replace(/role: \S+/,'role: nobody-x'), text+'\n# x\n']) {
  got=[]; const at=performance.now(); const c0=cpu(); v++;
  await c.sendNotification('textDocument/didChange',{textDocument:{uri,version:v},contentChanges:[{text:t}]});
  for(let i=0;i<600 && got.filter(g=>g[1].endsWith(file.split('/').at(-1))).length===0;i++) await sleep(5);
  const g=got.find(x=>x[1].endsWith(file.split('/').at(-1)));
  console.log('edit', g?((g[0]-at).toFixed(0)+' ms '+g.slice(1)):'no message', 'cpu', cpu()-c0);
  const h0=performance.now(); const sym=await c.sendRequest('textDocument/completion',{textDocument:{uri},position:{line:5,character:0}}); console.log('  completion',(performance.now()-h0).toFixed(0),sym.length);
  await sleep(Number(process.argv[5]??500)); console.log('  all cpu', cpu()-c0, got.length);
}
server.kill();
