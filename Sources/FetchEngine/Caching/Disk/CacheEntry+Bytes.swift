import HTTPTypes

extension CacheEntry {
    /// The entry as a file keeps it.
    package var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.append(key.method)
        writer.append(key.url)
        writer.append(id.rawValue)
        writer.append(requestTime.microseconds)
        writer.append(responseTime.microseconds)
        writer.append(bodyLength)
        writer.append(UInt16(response.status.code))
        writer.append(response.status.reasonPhrase)
        writer.append(response.url.description)
        writer.append(response.httpVersion)
        writer.append(UInt32(response.headerFields.count))
        for field in response.headerFields {
            writer.append(field.name.rawName)
            field.withUnsafeBytesOfValue { writer.append(UnsafeRawBufferPointer($0)) }
        }
        writer.append(UInt32(selection.names.count))
        for name in selection.names { writer.append(name) }
        writer.append(selection.digest)
        writer.append(UInt32(userInfo.count))
        for (name, value) in userInfo {
            writer.append(name)
            writer.append(value)
        }
        return writer.bytes
    }

    /// Reads what ``bytes`` gave.
    ///
    /// Any bytes may be read: nil for those that are no entry.
    package init?(bytes: ArraySlice<UInt8>) {
        do throws(ByteReader.Ended) {
            var reader = ByteReader(bytes)
            let key = CacheKey(method: try reader.text(), text: try reader.text())
            let id = ID(rawValue: try reader.number())
            let requestTime = UnixTime(microseconds: try reader.number())
            let responseTime = UnixTime(microseconds: try reader.number())
            let bodyLength = try reader.number(Int64.self)
            guard let response = try Self.response(from: &reader, bodyLength: bodyLength) else { return nil }
            var names: [String] = []
            for _ in 0..<(try reader.number(UInt32.self)) { names.append(try reader.text()) }
            let digest = Array(try reader.content())
            var userInfo: [String: String] = [:]
            for _ in 0..<(try reader.number(UInt32.self)) {
                let name = try reader.text()
                userInfo[name] = try reader.text()
            }
            guard reader.isAtEnd else { return nil }
            self.init(
                key: key, id: id, selection: CacheSelection(names: names, digest: digest), response: response,
                requestTime: requestTime, responseTime: responseTime, userInfo: userInfo, bodyLength: bodyLength)
        } catch {
            return nil
        }
    }

    private static func response(from reader: inout ByteReader, bodyLength: Int64) throws(ByteReader.Ended) -> Response?
    {
        let code = Int(try reader.number(UInt16.self))
        let reason = try reader.text()
        let address = try reader.text()
        let version = try reader.text()
        var fields = HTTPFields()
        let count = try reader.number(UInt32.self)
        guard count <= HeadCollector.maximumFields else { return nil }
        for _ in 0..<count {
            let name = HTTPField.Name(try reader.text())
            let value = try reader.content()
            if let name { fields.append(HTTPField(name: name, lenientValue: value)) }
        }
        guard let url = try? URLRecord(address), (100...999).contains(code) else { return nil }
        return Response(
            url: url, status: .init(code: code, reasonPhrase: reason), headerFields: fields, httpVersion: version,
            expectedContentLength: bodyLength)
    }
}
