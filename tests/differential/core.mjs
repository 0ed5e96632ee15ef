// Fires events through the hook system of @google/gemini-cli-core and tells what the agent would do.
// One line of JSON in: {"hooks", "disabled", "cwd", "event", "fields"}; one line out: {"ran",
// "system_messages", "stop", "blocked", …}. What does not apply is left out. `fields` are those of
// the hook's input; requests and responses have the form in which hooks see them.
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

for (const name of ['log', 'info', 'debug', 'warn', 'error']) console[name] = () => {};
const load = (file) => import(pathToFileURL(path.join(process.env.GEMINI_CORE, 'dist/src', file)).href);
const { HookSystem } = await load('hooks/index.js');
const { coreEvents, CoreEvent } = await load('utils/events.js');

/** The parts of the agent's configuration that its hook system asks for. */
function configuration({ hooks, disabled, cwd }) {
  const self = {
    getSessionId: () => 'session',
    getWorkingDir: () => cwd,
    getTargetDir: () => cwd,
    getProjectRoot: () => cwd,
    isTrustedFolder: () => true,
    getHooks: () => hooks,
    getProjectHooks: () => undefined,
    getDisabledHooks: () => disabled,
    getExtensions: () => [],
    getTelemetryLogPromptsEnabled: () => false,
    getUsageStatisticsEnabled: () => false,
    getDebugMode: () => false,
    sanitizationConfig: {
      allowedEnvironmentVariables: [],
      blockedEnvironmentVariables: [],
      enableEnvironmentVariableRedaction: false,
    },
    storage: { getPlansDir: () => os.tmpdir(), getProjectTempDir: () => os.tmpdir() },
    geminiClient: { getChatRecordingService: () => undefined },
  };
  return Object.assign(self, { config: self });
}

const sdkRequest = ({ model, messages, config }) => ({
  model,
  contents: messages.map(({ role, content }) => ({ role, parts: [{ text: content }] })),
  config: { ...config },
});
const sdkResponse = ({ candidates, usageMetadata }) => ({
  candidates: candidates.map((candidate) => ({
    ...candidate,
    content: { role: 'model', parts: candidate.content.parts.map((text) => ({ text })) },
  })),
  usageMetadata,
});

const textOf = ({ parts }) => parts.map((part) => part.text).join('');
const SAMPLING = ['temperature', 'maxOutputTokens', 'topP', 'topK'];
const shownRequest = ({ modifiedModel, modifiedConfig, modifiedContents }) => ({
  model: modifiedModel,
  messages: modifiedContents.map((content) => ({ role: content.role, content: textOf(content) })),
  config: Object.fromEntries(SAMPLING.map((key) => [key, modifiedConfig?.[key]])),
});
const shownResponse = ({ candidates }) =>
  candidates.map(({ content, finishReason, index }) => ({
    parts: content.parts.map((part) => part.text),
    finishReason,
    index,
  }));

/** What the agent asks an output for that has a verdict. */
function told(output) {
  if (!output) return {};
  return {
    stop: output.shouldStopExecution(),
    blocked: output.getBlockingError().blocked,
    ask: output.isAskDecision(),
    reason: String(output.getEffectiveReason()),
    context: output.getAdditionalContext(),
    tool_input: output.getModifiedToolInput?.(),
    clear_context: output.shouldClearContext(),
    tail_tool_call: output.getTailToolCallRequest(),
  };
}

const nothing = () => ({});

/** Event to how it is fired, and what the agent makes of it. */
const EVENTS = {
  SessionStart: async (system, f) => told(await system.fireSessionStartEvent(f.source)),
  SessionEnd: (system, f) => system.fireSessionEndEvent(f.reason).then(nothing),
  PreCompress: (system, f) => system.firePreCompressEvent(f.trigger).then(nothing),
  Notification: (system, f) =>
    system
      .getEventHandler()
      .fireNotificationEvent(f.notification_type, f.message, f.details)
      .then(nothing),
  BeforeAgent: async (system, f) => told(await system.fireBeforeAgentEvent(f.prompt)),
  AfterAgent: async (system, f) =>
    told(await system.fireAfterAgentEvent(f.prompt, f.prompt_response, f.stop_hook_active)),
  BeforeTool: async (system, f) => told(await system.fireBeforeToolEvent(f.tool_name, f.tool_input)),
  AfterTool: async (system, f) =>
    told(await system.fireAfterToolEvent(f.tool_name, f.tool_input, f.tool_response)),
  BeforeModel: async (system, f) => {
    const done = await system.fireBeforeModelEvent(sdkRequest(f.llm_request));
    const { stopped: stop, blocked, reason, syntheticResponse: response } = done;
    return {
      stop,
      blocked,
      reason: String(reason),
      llm_response: response && shownResponse(response),
      llm_request: done.modifiedContents && shownRequest(done),
    };
  },
  AfterModel: async (system, f) => {
    const chunk = sdkResponse(f.llm_response);
    const done = await system.fireAfterModelEvent(sdkRequest(f.llm_request), chunk);
    const { stopped: stop, blocked, reason, response } = done;
    const changed = response === chunk ? undefined : shownResponse(response);
    return { stop, blocked, reason: String(reason), llm_response: changed };
  },
  BeforeToolSelection: async (system, f) => {
    const done = await system.fireBeforeToolSelectionEvent(sdkRequest(f.llm_request));
    return { tool_config: done.toolConfig?.functionCallingConfig };
  },
};

async function fire(request) {
  const system = new HookSystem(configuration(request));
  await system.initialize();
  const ran = [];
  const runner = system.hookRunner;
  const run = runner.executeHook.bind(runner);
  runner.executeHook = (hook, ...rest) => {
    ran.push(hook.name || hook.command);
    return run(hook, ...rest);
  };
  const messages = [];
  const listen = ({ message }) => messages.push(String(message));
  coreEvents.on(CoreEvent.HookSystemMessage, listen);
  try {
    const effects = await EVENTS[request.event](system, request.fields);
    return { ...effects, ran, system_messages: messages };
  } finally {
    coreEvents.off(CoreEvent.HookSystemMessage, listen);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await fire(JSON.parse(line)).catch((error) => ({ error: String(error.stack) }));
  process.stdout.write(JSON.stringify(answer) + '\n');
}
process.exit(0);
