import HTTPTypes

extension CacheEntry {
    /// Whether a 304 concerns this entry: its entity tag, where it has one, is the one of the request (RFC 9111
    /// §4.3.4).
    func isConfirmed(by response: Response) -> Bool {
        guard let tag = response.headerFields[values: .eTag].first else { return true }
        guard let own = self.response.headerFields[values: .eTag].first else { return false }
        return Self.opaque(tag) == Self.opaque(own)
    }

    /// The entry with the fields of a 304 in place of its own (§3.2).
    ///
    /// The fields that describe the bytes of the body stay, as those bytes stay. An `Age` belongs to the exchange that
    /// brought it, so the old one is removed.
    func refreshed(by response: Response, sentAt requestTime: UnixTime, receivedAt responseTime: UnixTime) -> CacheEntry
    {
        var fields = self.response.headerFields
        fields[fields: .age] = []
        if !response.headerFields.contains(.date) { fields[fields: .date] = [] }
        let new = response.headerFields.storable
        var names: [HTTPField.Name] = []
        for field in new where !Self.bodyFields.contains(field.name) && !names.contains(field.name) {
            names.append(field.name)
        }
        for name in names { fields[fields: name] = new[fields: name] }
        return CacheEntry(
            key: key, id: .random(), selection: selection, response: self.response.with(fields),
            requestTime: requestTime, responseTime: responseTime, userInfo: userInfo, storagePolicy: storagePolicy,
            bodyLength: bodyLength)
    }

    /// Whether the answer to HEAD describes the body that is stored (§4.3.5).
    func agrees(withHead response: Response) -> Bool {
        let (old, new) = (self.response.headerFields, response.headerFields)
        if let tag = new[values: .eTag].first, Self.opaque(tag) != old[values: .eTag].first.map(Self.opaque) {
            return false
        }
        if let modified = new[values: .lastModified].first, modified != old[values: .lastModified].first {
            return false
        }
        if let length = new[values: .contentLength].first, let own = old[values: .contentLength].first, length != own {
            return false
        }
        return true
    }

    /// An entity tag without its mark of weakness: the comparison of `If-None-Match` (RFC 9110 §13.1.2).
    private static func opaque(_ tag: String) -> Substring {
        let trimmed = Substring(tag).trimmed
        return trimmed.hasPrefix("W/") ? trimmed.dropFirst(2) : trimmed
    }

    private static let bodyFields: Set<HTTPField.Name> = [
        .contentLength, .contentEncoding, .contentType, .contentRange, .transferEncoding,
    ]
}
