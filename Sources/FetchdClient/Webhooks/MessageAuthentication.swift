import FetchEngine

/// HMAC-SHA-256 (RFC 2104).
func messageAuthenticationCode(of message: [UInt8], key: [UInt8]) -> [UInt8] {
    let hash = ContentDigest.sha256
    var block = key.count > 64 ? hash.digest(of: key) : key
    block += [UInt8](repeating: 0, count: 64 - block.count)
    let inner = hash.digest(of: block.map { $0 ^ 0x36 } + message)
    return hash.digest(of: block.map { $0 ^ 0x5C } + inner)
}

/// Whether codes are the same, in a time that says nothing of them.
func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
}
