import CCurl
import HTTPTypes

/// The header fields of requests as libcurl sends them, with those that it adds, and of their responses.
extension Transfer {
    /// Longer heads are not kept.
    private static let maximumHead = 8192
    private static let end = Array("\r\n\r\n".utf8)

    var recordsFields: Bool { shared.value.recordsHeaderFields && !speaksFTP }

    /// Has libcurl tell what it sends, beginning with the request that is about to leave.
    ///
    /// Not before: it would tell of the connection, too, and that takes it longer.
    func recordSentHead() {
        guard let easy else { return }
        sentHead = []
        metrics.requestHeaderFields = nil
        ccurl_set_long(easy, CURLOPT_VERBOSE, 1)
    }

    /// Takes a part of the head; the last one ends with an empty line.
    func sent(head bytes: UnsafeRawBufferPointer) {
        guard let begun = sentHead else { return }
        let head = begun + bytes
        let isWhole = head.suffix(Self.end.count).elementsEqual(Self.end)
        guard isWhole || head.count > Self.maximumHead else {
            sentHead = head
            return
        }
        sentHead = nil
        if let easy { ccurl_set_long(easy, CURLOPT_VERBOSE, 0) }
        if head.count <= Self.maximumHead { metrics.requestHeaderFields = fields(ofSent: head) }
    }

    /// The fields of a head, those that are secret without their values.
    private func fields(ofSent head: [UInt8]) -> HTTPFields? {
        var collector = HeadCollector(partition.names)
        // The request line comes first; it may have secrets in its target.
        for line in head.split(separator: UInt8(ascii: "\n")).dropFirst() {
            _ = line.withUnsafeBytes { collector.append($0) }
        }
        guard let sent = try? collector.trailers() else { return nil }
        let secrets = Set(request.headerFields.filter(\.isSensitive).map(\.name))
        return HTTPFields(
            sent.map { field in
                let isSecret = field.name.isOfCredential || secrets.contains(field.name)
                return isSecret ? HTTPField(name: field.name, value: "").markedSensitive : field
            })
    }

    func record(fields: HTTPFields) {
        if headerBytes <= Self.maximumHead { metrics.responseHeaderFields = fields }
    }
}
