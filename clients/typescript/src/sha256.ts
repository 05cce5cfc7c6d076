// WebCrypto digests what is there as a whole; bodies come in pieces.

/** The first 32 bits of the fractional parts of the roots of the first primes, squares and cubes (FIPS 180-4). */
function constants(count: number, root: (prime: number) => number): number[] {
  const found: number[] = [];
  for (let candidate = 2; found.length < count; candidate++) {
    let isPrime = true;
    for (let divisor = 2; divisor * divisor <= candidate; divisor++) isPrime &&= candidate % divisor !== 0;
    if (isPrime) found.push(((root(candidate) % 1) * 2 ** 32) | 0);
  }
  return found;
}

const INITIAL = constants(8, Math.sqrt);
const ROUNDS = Int32Array.from(constants(64, Math.cbrt));

/** SHA-256 of bytes that come in pieces. */
export class SHA256 {
  readonly #state = Int32Array.from(INITIAL);
  readonly #block = new Uint8Array(64);
  readonly #words = new Int32Array(64);
  #length = 0;

  update(bytes: Uint8Array): void {
    let start = 0;
    while (start < bytes.length) {
      const filled = this.#length % 64;
      const piece = bytes.subarray(start, start + 64 - filled);
      this.#block.set(piece, filled);
      this.#length += piece.length;
      start += piece.length;
      if (this.#length % 64 === 0) this.#compress();
    }
  }

  /** The digest of all that came; nothing comes after it. */
  digest(): Uint8Array {
    const bits = this.#length * 8;
    this.update(Uint8Array.of(0x80));
    this.update(new Uint8Array((120 - (this.#length % 64)) % 64));
    const end = new DataView(new ArrayBuffer(8));
    end.setUint32(0, Math.floor(bits / 2 ** 32));
    end.setUint32(4, bits >>> 0);
    this.update(new Uint8Array(end.buffer));
    const result = new DataView(new ArrayBuffer(32));
    this.#state.forEach((word, index) => result.setInt32(index * 4, word));
    return new Uint8Array(result.buffer);
  }

  #compress(): void {
    const words = this.#words;
    const block = this.#block;
    for (let i = 0; i < 16; i++) {
      words[i] = (block[i * 4]! << 24) | (block[i * 4 + 1]! << 16) | (block[i * 4 + 2]! << 8) | block[i * 4 + 3]!;
    }
    for (let i = 16; i < 64; i++) {
      const x = words[i - 15]!;
      const y = words[i - 2]!;
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      words[i] = words[i - 16]! + s0 + words[i - 7]! + s1;
    }
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = this.#state;
    for (let i = 0; i < 64; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const first = (h + s1 + ((e & f) ^ (~e & g)) + ROUNDS[i]! + words[i]!) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const second = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + first) | 0;
      d = c; c = b; b = a; a = (first + second) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((word, index) => { this.#state[index] += word; });
  }
}

export function sha256(bytes: Uint8Array): Uint8Array {
  const hash = new SHA256();
  hash.update(bytes);
  return hash.digest();
}

/** A digest as RFC 9530 writes it. */
export const digestField = (digest: Uint8Array): string => `sha-256=:${btoa(String.fromCharCode(...digest))}:`;

/** The SHA-256 in such a field, in base64, if there is one. */
export function sha256Of(field: string | null | undefined): string | undefined {
  return /(?:^|[\s,])(sha-256=:[A-Za-z0-9+/=]+:)/.exec(field ?? "")?.[1];
}
