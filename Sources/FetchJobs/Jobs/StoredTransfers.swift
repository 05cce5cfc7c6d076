package import FetchEngine
import HTTPTypes

/// The transfers of an attempt as they are stored: an array for each, whose elements are the values of its members.
///
/// Half of what the members take would be their names, and each job has them.
package struct StoredTransfers: Sendable, Hashable {
    /// The members by their places, named after URLSessionTaskTransactionMetrics.
    ///
    /// Those that are often missing are the last; what is missing behind the last value is not written.
    private static let names = [
        "url", "status", "networkProtocolName", "remoteAddress", "remotePort", "isReusedConnection", fetchStart,
        "request", "response", "duration", "countOfRequestHeaderBytesSent", "countOfRequestBodyBytesSent",
        "countOfResponseHeaderBytesReceived", "countOfResponseBodyBytesReceived", "domainLookup", "connect",
        "secureConnection", "tlsProtocolVersion", "tlsCipherSuite", "connectionWasLost", "requestHeaders",
        "responseHeaders", "certificates", "cookies", "isProxyConnection", "resourceFetchType",
        "countOfRequestBodyBytesBeforeEncoding", "countOfResponseBodyBytesAfterDecoding",
    ]
    /// A time, which is stored as the seconds since the attempt began.
    private static let fetchStart = "fetchStart"
    /// The most bytes of recorded fields that a load has; those of transfers after it are left out.
    private static let maximumFieldBytes = 64 * 1024

    package let json: RawJSON

    package init(json: RawJSON) { self.json = json }

    /// - Parameters:
    ///   - earlier: How long before the attempt the task began, from which the times of transactions count.
    ///   - urls: The form in which URLs in header fields are shown.
    package init(_ metrics: TaskMetrics, earlier: Duration = .zero, _ urls: URLForm = .whole) {
        var room = Self.maximumFieldBytes
        json = RawJSON.array { writer in
            for transaction in metrics.transactions {
                writer.array { transaction.write(&$0, earlier: earlier, urls, room: &room) }
            }
        }
    }

    /// The transfers as clients see them: an array of objects.
    ///
    /// - Parameter start: When the attempt began.
    package func named(since start: Timestamp) -> RawJSON {
        let transfers = (try? JSONParser.parse(json.bytes))?.elements ?? []
        return RawJSON.array { writer in
            for transfer in transfers {
                writer.object { writer in
                    for (name, value) in zip(Self.names, transfer.elements) where value != .null {
                        if name == Self.fetchStart, let seconds = value.double {
                            writer.member(name, start.advanced(by: .seconds(seconds)).description)
                        } else {
                            writer.member(name, value)
                        }
                    }
                }
            }
        }
    }
}

extension TransactionMetrics {
    /// Writes the values in the order of their names.
    fileprivate func write(_ writer: inout JSONWriter, earlier: Duration, _ urls: URLForm, room: inout Int) {
        var missing = 0
        func write<Value>(_ value: Value?, _ write: (inout JSONWriter, Value) -> Void) {
            guard let value else { return missing += 1 }
            while missing > 0 {
                writer.null()
                missing -= 1
            }
            write(&writer, value)
        }
        write(url.redacted) { $0.value($1) }
        write(status) { $0.value($1) }
        write(networkProtocolName) { $0.value($1) }
        write(remoteAddress) { $0.value($1) }
        write(remotePort) { $0.value($1) }
        write(isReusedConnection) { $0.value($1) }
        write(fetchStart - earlier) { $0.value($1) }
        write(phase(requestStart, requestEnd)) { $0.value($1) }
        write(phase(responseStart, responseEnd)) { $0.value($1) }
        write(responseEnd) { $0.value($1) }
        write(countOfRequestHeaderBytesSent) { $0.value($1) }
        write(countOfRequestBodyBytesSent) { $0.value($1) }
        write(countOfResponseHeaderBytesReceived) { $0.value($1) }
        write(countOfResponseBodyBytesReceived) { $0.value($1) }
        write(phase(domainLookupStart, domainLookupEnd)) { $0.value($1) }
        write(phase(connectStart, connectEnd)) { $0.value($1) }
        write(phase(secureConnectionStart, secureConnectionEnd)) { $0.value($1) }
        write(negotiatedTLSProtocolVersion) { $0.value($1) }
        write(negotiatedTLSCipherSuite) { $0.value($1) }
        write(connectionWasLost ? true : nil) { $0.value($1) }
        write(shown(requestHeaderFields, urls, room: &room), Self.write)
        write(shown(responseHeaderFields, urls, room: &room), Self.write)
        write(certificates.isEmpty ? nil : certificates) { writer, certificates in
            writer.array { Self.write(&$0, certificates) }
        }
        write(cookieNames.isEmpty ? nil : cookieNames) { writer, names in
            writer.array { writer in
                for name in names.prefix(Self.maximumCookies) { writer.value(Self.cut(name)) }
            }
        }
        write(isProxyConnection ? true : nil) { $0.value($1) }
        write(resourceFetchType == .networkLoad ? nil : resourceFetchType.rawValue) { $0.value($1) }
        let (sent, received) = (countOfRequestBodyBytesSent, countOfResponseBodyBytesReceived)
        let (given, gotten) = (countOfRequestBodyBytesBeforeEncoding, countOfResponseBodyBytesAfterDecoding)
        // Of a transfer before a load was parked they are not on record.
        write(given == sent || given == 0 ? nil : given) { $0.value($1) }
        write(gotten == received || gotten == 0 ? nil : gotten) { $0.value($1) }
    }

    /// Nil when it did not happen.
    private func phase(_ start: Duration?, _ end: Duration?) -> (start: Duration, end: Duration)? {
        if let start, let end { (start, end) } else { nil }
    }

    /// Recorded fields without secrets; nil of none, and when there is no room for them.
    private func shown(_ fields: HTTPFields?, _ urls: URLForm, room: inout Int) -> HTTPFields? {
        guard let fields else { return nil }
        let size = fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count }
        guard size <= room else { return nil }
        room -= size
        return fields.withoutSecrets(relativeTo: url, urls)
    }

    private static func write(_ writer: inout JSONWriter, _ fields: HTTPFields) {
        writer.array { writer in fields.forEach { $0.write(&writer, .redacted) } }
    }

    private static let maximumCertificates = 5
    private static let maximumCookies = 50
    /// Names that a server has chosen are no longer than this, in characters.
    private static let maximumLength = 256

    private static func cut(_ text: String) -> String { String(text.unicodeScalars.prefix(maximumLength)) }

    private static func write(_ writer: inout JSONWriter, _ certificates: [[UInt8]]) {
        for certificate in certificates.prefix(maximumCertificates) {
            let summary = CertificateSummary(der: certificate)
            let time = { (seconds: Int64) in Timestamp(microseconds: seconds * 1_000_000).description }
            writer.object { writer in
                writer.member("subject", summary.map { cut($0.subject) })
                writer.member("issuer", summary.map { cut($0.issuer) })
                writer.member("notBefore", summary?.notBefore.map(time))
                writer.member("notAfter", summary?.notAfter.map(time))
                writer.member("sha256", Fingerprint(of: certificate).description)
            }
        }
    }
}

extension JSONWriter {
    /// Writes a phase as `[start, end]` in seconds.
    fileprivate mutating func value(_ phase: (start: Duration, end: Duration)) {
        array { writer in
            writer.value(phase.start)
            writer.value(phase.end)
        }
    }
}
