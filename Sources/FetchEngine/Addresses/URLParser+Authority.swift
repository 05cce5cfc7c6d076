extension URLParser {
    /// The "special authority" states: any number of slashes, then an authority.
    mutating func parseSpecialAuthority() throws(URLRecord.Failure) {
        if output.isEmpty, let base {
            output.append(contentsOf: base.scheme.utf8)
            endScheme()
        }
        while isSlash(current) { position += 1 }
        try parseAuthority()
    }

    /// Reads credentials, host and port, and the rest after them.
    mutating func parseAuthority() throws(URLRecord.Failure) {
        beginAuthority()
        let end = nextBoundary()
        if let at = input[position..<end].lastIndex(of: UInt8(ascii: "@")) {
            appendCredentials(input[position..<at])
            position = at + 1
            guard position < end else { throw .hostMissing }
        }
        let colon = portColon(before: end)
        let host = input[position..<(colon ?? end)]
        guard !host.isEmpty || (special == nil && colon == nil) else { throw .hostMissing }
        try appendHost(host)
        position = end
        if let colon { try appendPort(input[(colon + 1)..<end]) }
        layout.authorityEnd = UInt32(output.count)
        parsePathStart()
    }

    /// Writes the slashes; the host starts after them until credentials move it.
    mutating func beginAuthority() {
        output.append(UInt8(ascii: "/"))
        output.append(UInt8(ascii: "/"))
        layout.hasHost = true
        layout.usernameEnd = UInt32(output.count)
        layout.hostStart = UInt32(output.count)
    }

    func nextColon(in range: Range<Int>) -> Int? { input[range].firstIndex(of: UInt8(ascii: ":")) }

    private mutating func appendCredentials(_ userinfo: ArraySlice<UInt8>) {
        let colon = nextColon(in: userinfo.indices)
        let username = userinfo[..<(colon ?? userinfo.endIndex)]
        let password = colon.map { userinfo[($0 + 1)...] } ?? []
        guard !username.isEmpty || !password.isEmpty else { return }
        output.append(username, encoding: .userinfo)
        layout.usernameEnd = UInt32(output.count)
        if !password.isEmpty {
            output.append(UInt8(ascii: ":"))
            output.append(password, encoding: .userinfo)
        }
        output.append(UInt8(ascii: "@"))
        layout.hostStart = UInt32(output.count)
    }

    /// The colon before the port: the first one outside brackets.
    private func portColon(before end: Int) -> Int? {
        var isInBrackets = false
        for index in position..<end {
            switch input[index] {
            case UInt8(ascii: "["): isInBrackets = true
            case UInt8(ascii: "]"): isInBrackets = false
            case UInt8(ascii: ":") where !isInBrackets: return index
            default: continue
            }
        }
        return nil
    }

    mutating func appendHost(_ host: ArraySlice<UInt8>) throws(URLRecord.Failure) {
        try output.append(contentsOf: HostParser.parse(host, isSpecial: special != nil))
        layout.hostEnd = UInt32(output.count)
        layout.authorityEnd = layout.hostEnd
    }

    private mutating func appendPort(_ digits: ArraySlice<UInt8>) throws(URLRecord.Failure) {
        guard !digits.isEmpty else { return }
        var value = 0
        for digit in digits {
            guard digit.isASCIIDigit else { throw .portInvalid }
            value = value * 10 + Int(digit - UInt8(ascii: "0"))
            guard value <= 65535 else { throw .portInvalid }
        }
        guard let port = UInt16(exactly: value), port != special?.defaultPort else { return }
        layout.port = port
        output.append(UInt8(ascii: ":"))
        output.append(contentsOf: String(port).utf8)
    }
}
