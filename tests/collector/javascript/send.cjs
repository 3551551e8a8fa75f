// Sends spans and log records by the JavaScript SDK: node send.cjs grpc|http/json|http/protobuf ENDPOINT NAME COMPRESSION
// TOKEN. It stands beside package.json; modules are found from the working directory.
const { createRequire } = require("module");
const from = createRequire(process.cwd() + "/package.json");
const [, , protocol, endpoint, name, compression, token] = process.argv;
const kind = { grpc: "grpc", "http/json": "http", "http/protobuf": "proto" }[protocol];

const { SpanStatusCode } = from("@opentelemetry/api");
const { NodeTracerProvider, BatchSpanProcessor } = from("@opentelemetry/sdk-trace-node");
const { LoggerProvider, BatchLogRecordProcessor } = from("@opentelemetry/sdk-logs");
const { resourceFromAttributes } = from("@opentelemetry/resources");
const { OTLPTraceExporter } = from(`@opentelemetry/exporter-trace-otlp-${kind}`);
const { OTLPLogExporter } = from(`@opentelemetry/exporter-logs-otlp-${kind}`);

function options(path) {
  if (kind === "grpc") {
    const { Metadata, credentials } = createRequire(from.resolve("@opentelemetry/exporter-trace-otlp-grpc"))("@grpc/grpc-js");
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${token}`);
    return { url: `http://${endpoint}`, credentials: credentials.createInsecure(), metadata, compression };
  }
  return { url: `${endpoint}/v1/${path}`, headers: { authorization: `Bearer ${token}` }, compression };
}

async function main() {
  const resource = resourceFromAttributes({ "service.name": `javascript ${protocol}`, list: ["a", "b"] });
  const exporter = new OTLPTraceExporter(options("traces"));
  const provider = new NodeTracerProvider({ resource, spanProcessors: [new BatchSpanProcessor(exporter)] });
  const span = provider.getTracer("scope", "1.2").startSpan(name);
  span.setAttributes({ s: "é", i: 3, f: 0.5, b: true, list: ["a", "b"] });
  span.addEvent("happened", { n: 1 });
  span.setStatus({ code: SpanStatusCode.ERROR, message: "no" });
  span.end();
  const logs = new LoggerProvider({ resource, processors: [new BatchLogRecordProcessor({ exporter: new OTLPLogExporter(options("logs")) })] });
  logs.getLogger("scope").emit({ eventName: "claude_code.tool_result", body: "secret", attributes: { tool_name: name, prompt: "secret" } });
  await provider.forceFlush();
  await logs.forceFlush();
  await provider.shutdown();
  await logs.shutdown();
  console.log(JSON.stringify(span.spanContext()));
}
main().catch((error) => { console.error(error); process.exit(1); });
