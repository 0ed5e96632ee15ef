// Fires events through the hook system of @google/gemini-cli-core, for comparison.
// Lines of JSON in, lines of JSON out: {"settings": {...}, "cwd": "...", "tool_name": "...", "tool_input": {...}}
// answers {"ms": milliseconds of one firing, "hooks": how many ran}.
import { createInterface } from 'node:readline';
import { performance } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import path from 'node:path';
import os from 'node:os';

const root = path.join(process.env.GEMINI_CORE, 'dist/src');
for (const name of ['log', 'info', 'debug', 'warn', 'error']) console[name] = () => {};
const { HookSystem } = await import(pathToFileURL(path.join(root, 'hooks/index.js')).href);

function configuration(request) {
  const off = () => false;
  const config = {
    getSessionId: () => 's', getWorkingDir: () => request.cwd, getTargetDir: () => request.cwd,
    getProjectRoot: () => request.cwd, isTrustedFolder: () => true, getHooks: () => structuredClone(request.settings.hooks),
    getProjectHooks: () => undefined, getDisabledHooks: () => [], getExtensions: () => [], getHookSystem: () => undefined,
    getUsageStatisticsEnabled: off, getTelemetryEnabled: off, getTelemetryLogPromptsEnabled: off, getDebugMode: off,
    getEnableHooks: () => true,
    sanitizationConfig: { allowedEnvironmentVariables: [], blockedEnvironmentVariables: [], enableEnvironmentVariableRedaction: false },
    storage: { getPlansDir: () => path.join(os.tmpdir(), 'plans'), getProjectTempDir: () => os.tmpdir() },
    geminiClient: { getChatRecordingService: () => ({ getConversationFilePath: () => '' }) },
  };
  config.config = config;
  return config;
}

const systems = new Map();
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const key = JSON.stringify(request.settings);
  if (!systems.has(key)) {
    const system = new HookSystem(configuration(request));
    await system.initialize();
    systems.set(key, system.getEventHandler());
  }
  const started = performance.now();
  const result = await systems.get(key).fireBeforeToolEvent(request.tool_name, request.tool_input);
  const ms = performance.now() - started;
  process.stdout.write(JSON.stringify({ ms, hooks: result.allOutputs.length }) + '\n');
}
process.exit(0);
