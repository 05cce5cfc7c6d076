package import FetchEngine
package import HTTPTypes

/// The head of the final response of a job as it is stored.
///
/// Mostly an array: the URL, the status, the version, the names and values of the fields in turn, the length, whether it
/// came from the cache, what the cache says of it behind its name, and an object of what few have. What follows from these is not stored,
/// since each job has a response. Of a response with parts it is the object that clients see.
package struct StoredResponse: Sendable, Hashable {
    package let json: RawJSON

    package init(json: RawJSON) { self.json = json }

    /// Without secrets.
    ///
    /// - Parameters:
    ///   - urls: The form in which URLs are shown.
    ///   - trailers: The fields that came after the body.
    ///   - verdicts: What became of its cookies.
    package init(
        _ response: Response, _ urls: URLForm, trailers: HTTPFields = HTTPFields(),
        cookies verdicts: [CookieVerdict] = []
    ) {
        json = RawJSON.array { writer in
            writer.value(urls.text(of: response.url))
            writer.value(response.status.code)
            writer.value(response.httpVersion)
            writer.array { writer in
                for field in response.headerFields.withoutSecrets(relativeTo: response.url, urls) {
                    writer.value(field.name.rawName)
                    writer.value(field.text)
                }
            }
            if let length = response.expectedContentLength { writer.value(length) } else { writer.null() }
            writer.value(response.source == .cache)
            writer.value(response.cacheStatus.parameters)
            let properties = response[.byProtocol]
            guard properties != nil || !trailers.isEmpty || !verdicts.isEmpty else { return }
            writer.object { writer in
                writer.member("properties", properties)
                response.write(trailers: trailers, &writer, urls)
                if !verdicts.isEmpty { writer.member("cookies", object: { $0.verdicts(verdicts) }) }
            }
        }
    }

    /// The response as clients see it: an object.
    package var named: RawJSON {
        guard let head = Head(json) else { return json }
        return RawJSON(
            JSONWriter.object { writer in
                head.response.writeHead(
                    &writer, url: head.url, head.response.headerFields, fromCache: head.isFromCache,
                    cacheStatus: head.cacheStatus)
                for member in head.rest { writer.member(member.name, member.value) }
            })
    }

    /// The media type of the body with its charset; nil when the server named none.
    package var contentType: String? {
        let (type, charset) =
            if let response = Head(json)?.response {
                (response.mimeType, response.textEncodingName)
            } else { (member("mimeType"), member("textEncodingName")) }
        return type.map { type in charset.map { "\(type); charset=\($0)" } ?? type }
    }

    /// A name for a file with the body.
    package var suggestedFilename: String? { Head(json)?.response.suggestedFilename ?? member("suggestedFilename") }

    private func member(_ name: String) -> String? { (try? JSONParser.parse(json.bytes))?.member(name)?.text }

    /// What is in the array.
    private struct Head {
        let url: String
        let isFromCache: Bool
        let cacheStatus: String
        let rest: [JSONMember]
        /// As much as is stored of it.
        let response: Response

        /// Nil for another form.
        init?(_ json: RawJSON) {
            guard case .array(let parts)? = try? JSONParser.parse(json.bytes), parts.count >= 7,
                let url = parts[0].text,
                let status = parts[1].integer, let version = parts[2].text, let parameters = parts[6].text,
                // Its path counts, for a name; one that cannot be read has none.
                let address = (try? URLRecord(url)) ?? (try? URLRecord("data:,"))
            else { return nil }
            let texts = parts[3].elements.compactMap(\.text)
            isFromCache = parts[5] == .bool(true)
            (self.url, cacheStatus) = (url, CacheStatus.cacheName + parameters)
            rest = if parts.count > 7, case .object(let members) = parts[7] { members } else { [] }
            var headerFields = HTTPFields()
            for index in stride(from: 0, to: texts.count - 1, by: 2) {
                guard let name = HTTPField.Name(texts[index]) else { continue }
                headerFields.append(HTTPField(name: name, lenientValue: Array(texts[index + 1].utf8)))
            }
            response = Response(
                url: address, status: .init(code: Int(status)), headerFields: headerFields, httpVersion: version,
                expectedContentLength: parts[4].integer)
        }
    }
}
