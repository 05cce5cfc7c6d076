// What only Node has: files.
import { randomBytes } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * Writes a stream to a file, which appears under its name once it is complete and on disk.
 *
 * Streams of jobs compare their checksum at their end. A file of that name gives way. Nothing is left when this fails.
 */
export async function save(stream: ReadableStream<Uint8Array>, path: string): Promise<void> {
  const partial = join(dirname(path), `.${basename(path)}.${randomBytes(4).toString("hex")}.part`);
  try {
    const reader = stream.getReader();
    const file = await open(partial, "wx");
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) await file.write(next.value);
      await file.sync();
    } catch (failure) {
      await reader.cancel(failure).catch(() => {});
      throw failure;
    } finally {
      await file.close();
    }
    await rename(partial, path);
  } catch (failure) {
    await rm(partial, { force: true });
    throw failure;
  }
}
