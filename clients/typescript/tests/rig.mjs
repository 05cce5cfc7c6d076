// The service, the origin and the faulty front that `scripts/check-clients` has started.
import { randomUUID } from "node:crypto";
import { Fetchd } from "fetchd";

export const origin = process.env.ORIGIN;
export const fetchd = new Fetchd();

/** A client's way to the service that has faults for some of its requests. */
export function front(fault, count, size = 0, options = {}) {
  const name = randomUUID().replaceAll("-", "");
  const client = new Fetchd({ url: `${process.env.FRONT}/${fault}-${count}-${size}-${name}`, ...options });
  return { client, seen: async () => (await fetch(`${process.env.FRONT}/seen/${name}`)).json() };
}

/** A URL that answers once it is released. */
export function held() {
  const name = randomUUID();
  return { url: `${origin}/held/${name}`, release: () => fetch(`${origin}/release/${name}`) };
}

export async function all(items) {
  const list = [];
  for await (const item of items) list.push(item);
  return list;
}
