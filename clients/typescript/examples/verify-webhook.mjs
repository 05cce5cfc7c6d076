// Receives webhook messages: PORT and WEBHOOK_SECRET (`whsec_…`) say where, and signed with what.
// Answers at once, drops what came before, and prints a line for each job that ended.
import { createServer } from "node:http";
import { verifyWebhook } from "fetchd";

// A program that is started again keeps them in its database.
const seen = new Set();

createServer(async (request, response) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  try {
    const { id, type, data } = await verifyWebhook(process.env.WEBHOOK_SECRET,
                                                   { headers: request.headers, body: Buffer.concat(pieces) });
    response.writeHead(204).end();
    if (type === "job.finished" && !seen.has(id)) console.log(data.job.id, data.job.state);
    seen.add(id);
  } catch (refusal) {
    response.writeHead(401).end(refusal.message);
  }
}).listen(Number(process.env.PORT), "127.0.0.1");
