import HTTPTypes

// The form in which positions are kept. Any bytes may be read: bytes that are no position throw.

extension LoadPosition {
    private static let version: UInt8 = 1

    /// Nil for a position with a part that is not written, such as the key of a client certificate.
    package var bytes: [UInt8]? {
        var writer = PositionWriter()
        writer.append(Self.version)
        writer.append(Int64(followedRedirects))
        writer.append(timeLeft.map { Int64($0 / .milliseconds(1)) } ?? -1)
        writer.append(hop) { $0.append($1) }
        writer.append(authentication)
        writer.append(connections)
        writer.append(all: steps) { $0.append($1) }
        writer.append(start) { $0.append($1) }
        writer.append(all: keptTransactions) { $0.append($1) }
        return writer.isComplete ? writer.bytes : nil
    }

    /// The most bytes of transactions that are kept.
    private static let maximumTransactionBytes = 32 * 1024

    /// The last transactions, as many as there is room for: they are not what keeps a load from being left.
    private var keptTransactions: ArraySlice<TransactionMetrics> {
        var (first, room) = (transactions.endIndex, Self.maximumTransactionBytes)
        while first > transactions.startIndex {
            var writer = PositionWriter()
            writer.append(transactions[first - 1])
            room -= writer.bytes.count
            guard room >= 0 else { break }
            first -= 1
        }
        return transactions[first...]
    }

    /// - Throws: `cannotDecodeRawData` when the bytes are damaged, or of a version that is not known here.
    package init(bytes: [UInt8]) throws(LoadError) {
        var reader = PositionReader(bytes)
        do throws(PositionReader.Damaged) {
            guard try reader.number(UInt8.self) == Self.version else { throw .init() }
            followedRedirects = Int(clamping: try reader.number(Int64.self))
            let milliseconds = try reader.number(Int64.self)
            timeLeft = milliseconds < 0 ? nil : .milliseconds(milliseconds)
            hop = try reader.optional { reader throws(PositionReader.Damaged) in try reader.hop() }
            authentication = try reader.authentication()
            connections = try reader.connections()
            steps = try reader.all { reader throws(PositionReader.Damaged) in try reader.step() }
            start = try reader.optional { reader throws(PositionReader.Damaged) in try reader.number(Int64.self) }
            transactions = try reader.all { reader throws(PositionReader.Damaged) in
                try reader.transaction()
            }
        } catch {
            throw LoadError(.cannotDecodeRawData, "The position is damaged or of another version.")
        }
    }
}

private struct PositionWriter {
    private var writer = ByteWriter()
    /// Whether all could be written.
    private(set) var isComplete = true

    var bytes: [UInt8] { writer.bytes }

    mutating func append(_ number: some FixedWidthInteger) { writer.append(number) }

    mutating func append(_ flag: Bool) { writer.append(UInt8(flag ? 1 : 0)) }

    mutating func append(_ text: String) { writer.append(text) }

    mutating func append(_ bytes: [UInt8]) { writer.append(bytes) }

    mutating func append<Value>(_ value: Value?, _ write: (inout Self, Value) -> Void) {
        append(value != nil)
        if let value { write(&self, value) }
    }

    mutating func append<Values: Collection>(all values: Values, _ write: (inout Self, Values.Element) -> Void) {
        append(UInt32(clamping: values.count))
        for value in values { write(&self, value) }
    }

    mutating func append(_ hop: LoadPosition.Hop) {
        append(hop.url.description)
        append(hop.method.rawValue)
        append(hop.headerFields)
        switch hop.content {
        case .none: append(UInt8(0))
        case .original: append(UInt8(1))
        case .bytes(let bytes):
            append(UInt8(2))
            append(bytes)
        case .given: append(UInt8(3))
        }
        append(hop.isCoded)
        append(hop.cachePolicy.rawValue)
        append(hop.answer) { writer, answer in
            writer.append(answer.response)
            writer.append(answer.body)
        }
    }

    private mutating func append(_ response: Response) {
        append(response.url.description)
        append(response.status)
        append(response.headerFields)
        append(response.httpVersion)
        append(response.expectedContentLength) { $0.append($1) }
    }

    private mutating func append(_ status: HTTPResponse.Status) {
        append(Int32(status.code))
        append(status.reasonPhrase)
    }

    private mutating func append(_ fields: HTTPFields) {
        append(all: fields) { writer, field in
            writer.append(field.name.rawName)
            writer.append(field.withUnsafeBytesOfValue { Array($0) })
        }
    }

    mutating func append(_ results: AuthenticationResults) {
        append(Int64(results.failureCount))
        for credentials in [results.accepted, results.failed] {
            append(all: credentials) { writer, member in
                writer.append(member.key)
                writer.append(member.value)
            }
        }
        append(all: results.rejected) { $0.append($1) }
        append(results.ofURL) { writer, ofURL in
            writer.append(ofURL.server.host)
            writer.append(ofURL.server.port)
            writer.append(ofURL.server.scheme)
            writer.append(ofURL.credential)
        }
    }

    mutating func append(_ decisions: ConnectionDecisions) {
        for chains in [decisions.accepted, decisions.settled] {
            append(all: chains) { writer, member in
                writer.append(member.key)
                writer.append(all: member.value) { $0.append($1.description) }
            }
        }
        append(all: decisions.identities) { writer, member in
            writer.append(member.key)
            // The key of an identity is not written down.
            if member.value != nil { writer.isComplete = false }
        }
        append(all: decisions.deadRoutes) { writer, member in
            writer.append(member.key)
            writer.append(Int64(member.value))
        }
        append(Int64(decisions.identityFailures))
        append(all: decisions.logins) { writer, member in
            writer.append(member.key)
            writer.append(member.value)
        }
        append(Int64(decisions.loginFailures))
    }

    private mutating func append(_ origin: URLRecord.Origin) {
        append(origin.scheme)
        append(origin.host)
        append(origin.port) { $0.append($1) }
    }

    private mutating func append(_ space: ProtectionSpace) {
        append(space.host)
        append(space.port)
        append(space.scheme)
        append(space.realm) { $0.append($1) }
        append(space.method.rawValue)
        append(space.isProxy)
    }

    private mutating func append(_ credential: Credential) {
        append(credential.user)
        append(credential.persistence.rawValue)
        switch credential.secret {
        case .password(let password):
            append(UInt8(0))
            append(password)
        case .bearerToken(let token):
            append(UInt8(1))
            append(token)
        case .tickets(let cache):
            append(UInt8(2))
            append(cache) { $0.append($1) }
        case .kerberosKeys(let keys):
            append(UInt8(3))
            append(keys)
        case .identity, .trust, .keytab, .awsKeys: isComplete = false
        }
    }

    mutating func append(_ transaction: TransactionMetrics) {
        append(transaction.url.description)
        append(transaction.status) { $0.append(Int64($1)) }
        append(transaction.resourceFetchType.rawValue)
        for path in TransactionMetrics.times { append(transaction[keyPath: path]) { $0.append($1) } }
        for time in [transaction.fetchStart, transaction.responseEnd] { append(time) }
        for path in TransactionMetrics.texts { append(transaction[keyPath: path]) { $0.append($1) } }
        for path in TransactionMetrics.ports { append(transaction[keyPath: path]) { $0.append(Int64($1)) } }
        for path in TransactionMetrics.flags { append(transaction[keyPath: path]) }
        for path in TransactionMetrics.counts { append(transaction[keyPath: path]) }
    }

    /// In microseconds.
    private mutating func append(_ time: Duration) { append(Int64(time / .microseconds(1))) }

    mutating func append(_ step: LoadStep) {
        switch step {
        case .redirected(let redirect):
            append(UInt8(0))
            append(redirect.url.description)
            append(redirect.status)
            append(redirect.location)
            append(redirect.target.description)
            append(redirect.method.rawValue)
            append(redirect.cause.rawValue)
        case .challenged(let challenge):
            append(UInt8(1))
            append(challenge.protectionSpace)
            append(Int64(challenge.previousFailureCount))
            append(challenge.answer.rawValue)
        // No load goes on by them.
        case .canonicalized, .informed, .awaitedConnectivity: isComplete = false
        }
    }
}

private struct PositionReader {
    struct Damaged: Error {}

    private var reader: ByteReader

    init(_ bytes: [UInt8]) { reader = ByteReader(bytes[...]) }

    mutating func number<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) throws(Damaged) -> Number {
        do { return try reader.number(type) } catch { throw Damaged() }
    }

    private mutating func count() throws(Damaged) -> Int {
        let number = try number(Int64.self)
        guard number >= 0 else { throw Damaged() }
        return Int(clamping: number)
    }

    private mutating func flag() throws(Damaged) -> Bool { try number(UInt8.self) != 0 }

    private mutating func bytes() throws(Damaged) -> [UInt8] {
        do { return Array(try reader.content()) } catch { throw Damaged() }
    }

    private mutating func text() throws(Damaged) -> String {
        guard let text = String(validating: try bytes(), as: UTF8.self) else { throw Damaged() }
        return text
    }

    private mutating func url() throws(Damaged) -> URLRecord {
        do { return try URLRecord(try text()) } catch { throw Damaged() }
    }

    private mutating func method() throws(Damaged) -> HTTPRequest.Method { try known(HTTPRequest.Method(try text())) }

    /// The value that a text stands for, if it does.
    private func known<Value>(_ value: Value?) throws(Damaged) -> Value {
        guard let value else { throw Damaged() }
        return value
    }

    mutating func optional<Value>(_ read: (inout Self) throws(Damaged) -> Value) throws(Damaged) -> Value? {
        try flag() ? try read(&self) : nil
    }

    mutating func all<Value>(_ read: (inout Self) throws(Damaged) -> Value) throws(Damaged) -> [Value] {
        var values: [Value] = []
        for _ in 0..<(try number(UInt32.self)) { values.append(try read(&self)) }
        return values
    }

    mutating func hop() throws(Damaged) -> LoadPosition.Hop {
        let (url, method, fields) = (try url(), try method(), try headerFields())
        let content: LoadPosition.Hop.Content
        switch try number(UInt8.self) {
        case 0: content = .none
        case 1: content = .original
        case 2: content = .bytes(try bytes())
        case 3: content = .given
        default: throw Damaged()
        }
        return .init(
            url: url, method: method, headerFields: fields, content: content, isCoded: try flag(),
            cachePolicy: try known(CachePolicy(rawValue: try text())),
            answer: try optional { reader throws(Damaged) in
                .init(response: try reader.response(), body: try reader.bytes())
            })
    }

    private mutating func response() throws(Damaged) -> Response {
        Response(
            url: try url(), status: try status(), headerFields: try headerFields(), httpVersion: try text(),
            expectedContentLength: try optional { reader throws(Damaged) in try reader.number(Int64.self) })
    }

    private mutating func status() throws(Damaged) -> HTTPResponse.Status {
        let code = try number(Int32.self)
        guard (0...999).contains(code) else { throw Damaged() }
        return .init(code: Int(code), reasonPhrase: try text())
    }

    private mutating func headerFields() throws(Damaged) -> HTTPFields {
        let fields = try all { reader throws(Damaged) in
            HTTPField(
                name: try reader.known(HTTPField.Name(try reader.text())), lenientValue: try reader.bytes())
        }
        return HTTPFields(fields)
    }

    mutating func authentication() throws(Damaged) -> AuthenticationResults {
        var results = AuthenticationResults()
        results.failureCount = try count()
        results.accepted = try credentials()
        results.failed = try credentials()
        results.rejected = Set(try all { reader throws(Damaged) in try reader.space() })
        results.ofURL = try optional { reader throws(Damaged) in
            .init(
                server: .init(
                    host: try reader.text(), port: try reader.number(UInt16.self), scheme: try reader.text()),
                credential: try reader.credential())
        }
        return results
    }

    private mutating func credentials() throws(Damaged) -> [ProtectionSpace: Credential] {
        var credentials: [ProtectionSpace: Credential] = [:]
        for _ in 0..<(try number(UInt32.self)) {
            let space = try space()
            credentials[space] = try credential()
        }
        return credentials
    }

    mutating func connections() throws(Damaged) -> ConnectionDecisions {
        var decisions = ConnectionDecisions()
        decisions.accepted = try chains()
        decisions.settled = try chains()
        for origin in try all({ reader throws(Damaged) in try reader.origin() }) { decisions.choose(nil, for: origin) }
        for _ in 0..<(try number(UInt32.self)) {
            let origin = try origin()
            decisions.deadRoutes[origin] = try count()
        }
        decisions.identityFailures = try count()
        for _ in 0..<(try number(UInt32.self)) {
            let origin = try origin()
            decisions.choose(login: try credential(), for: origin)
        }
        decisions.loginFailures = try count()
        return decisions
    }

    private mutating func chains() throws(Damaged) -> [URLRecord.Origin: Set<Fingerprint>] {
        var chains: [URLRecord.Origin: Set<Fingerprint>] = [:]
        for _ in 0..<(try number(UInt32.self)) {
            let origin = try origin()
            let digests = try all { reader throws(Damaged) in
                try reader.known(Fingerprint(try reader.text()))
            }
            chains[origin] = Set(digests)
        }
        return chains
    }

    private mutating func origin() throws(Damaged) -> URLRecord.Origin {
        .init(
            scheme: try text(), host: try text(),
            port: try optional { reader throws(Damaged) in try reader.number(UInt16.self) })
    }

    private mutating func space() throws(Damaged) -> ProtectionSpace {
        .init(
            host: try text(), port: try number(UInt16.self), scheme: try text(),
            realm: try optional { reader throws(Damaged) in try reader.text() }, method: .init(rawValue: try text()),
            isProxy: try flag())
    }

    private mutating func credential() throws(Damaged) -> Credential {
        let (user, persistence) = (try text(), try known(Credential.Persistence(rawValue: try text())))
        return switch try number(UInt8.self) {
        case 0: Credential(user: user, password: try text(), persistence: persistence)
        case 1: Credential(bearerToken: try text(), persistence: persistence)
        case 2:
            Credential(
                kerberosTicketsIn: try optional { reader throws(Damaged) in try reader.text() }, principal: user,
                persistence: persistence)
        case 3: Credential(kerberosPrincipal: user, keys: try bytes(), persistence: persistence)
        default: throw Damaged()
        }
    }

    mutating func transaction() throws(Damaged) -> TransactionMetrics {
        var transaction = TransactionMetrics(url: try url())
        transaction.status = try optional { reader throws(Damaged) in Int(clamping: try reader.number(Int64.self)) }
        transaction.resourceFetchType = try known(ResourceFetchType(rawValue: try text()))
        for path in TransactionMetrics.times {
            transaction[keyPath: path] = try optional { reader throws(Damaged) in try reader.time() }
        }
        transaction.fetchStart = try time()
        transaction.responseEnd = try time()
        for path in TransactionMetrics.texts {
            transaction[keyPath: path] = try optional { reader throws(Damaged) in try reader.text() }
        }
        for path in TransactionMetrics.ports {
            transaction[keyPath: path] = try optional { reader throws(Damaged) in
                Int(clamping: try reader.number(Int64.self))
            }
        }
        for path in TransactionMetrics.flags { transaction[keyPath: path] = try flag() }
        for path in TransactionMetrics.counts { transaction[keyPath: path] = try number() }
        return transaction
    }

    private mutating func time() throws(Damaged) -> Duration { .microseconds(try number(Int64.self)) }

    mutating func step() throws(Damaged) -> LoadStep {
        switch try number(UInt8.self) {
        case 0:
            .redirected(
                Redirect(
                    url: try url(), status: try status(), location: try text(), target: try url(),
                    method: try method(), cause: try known(Redirect.Cause(rawValue: try text()))))
        case 1:
            .challenged(
                AnsweredChallenge(
                    protectionSpace: try space(), previousFailureCount: try count(),
                    answer: try known(AnsweredChallenge.Answer(rawValue: try text()))))
        default: throw Damaged()
        }
    }
}

extension TransactionMetrics {
    fileprivate static var times: [any WritableKeyPath<TransactionMetrics, Duration?> & Sendable] {
        [
            \.domainLookupStart, \.domainLookupEnd, \.connectStart, \.connectEnd, \.secureConnectionStart,
            \.secureConnectionEnd, \.requestStart, \.requestEnd, \.responseStart,
        ]
    }

    fileprivate static var texts: [any WritableKeyPath<TransactionMetrics, String?> & Sendable] {
        [
            \.networkProtocolName, \.remoteAddress, \.localAddress, \.negotiatedTLSProtocolVersion,
            \.negotiatedTLSCipherSuite,
        ]
    }

    fileprivate static var ports: [any WritableKeyPath<TransactionMetrics, Int?> & Sendable] {
        [\.remotePort, \.localPort]
    }

    fileprivate static var flags: [any WritableKeyPath<TransactionMetrics, Bool> & Sendable] {
        [\.isReusedConnection, \.connectionWasLost, \.isProxyConnection]
    }

    fileprivate static var counts: [any WritableKeyPath<TransactionMetrics, Int64> & Sendable] {
        [
            \.countOfRequestHeaderBytesSent, \.countOfRequestBodyBytesSent, \.countOfResponseHeaderBytesReceived,
            \.countOfResponseBodyBytesReceived,
        ]
    }
}
