import FetchEngine
import HTTPTypes

extension Answer {
    /// Where an answer stands.
    package enum Place: Sendable {
        /// In a configuration: written before the load, and shown in clear.
        case configuration
        /// In the rules of the service, which are those of all tenants.
        case service
        /// In a reply to a question, which is never shown again.
        case reply
    }

    /// So many bytes of bodies an answer in a configuration may hold.
    static let maximumBodyBytes = 65_536

    /// Reads an answer to questions of a kind: a word, or an object with the word as `answer` and its further members.
    ///
    /// Errors are reported to the check.
    package init?(reader: JSONReader, to kind: Question.Kind, in place: Place) {
        let isWord = if case .string = reader.value { true } else { false }
        var object: JSONObjectReader?
        var wordReader = reader
        if !isWord {
            // The allowed members depend on the word.
            guard case .object(let members) = reader.value else {
                reader.refuse("must be a word, or an object with the member \"answer\", not \(reader.value.kind)")
                return nil
            }
            object = JSONObjectReader(members: members, reader: reader)
            guard let named = object?.required("answer") else { return nil }
            wordReader = named
        }
        guard let word = Self.word(wordReader, of: kind) else { return nil }
        if !isWord {
            guard let known = reader.object(of: word.members.union(["answer"])) else { return nil }
            object = known
        }
        guard let answer = Self.answer(word, object, reader, place) else { return nil }
        self = answer
    }

    private static func word(_ reader: JSONReader, of kind: Question.Kind) -> Word? {
        guard let text = reader.string(maximumLength: 64) else { return nil }
        guard let word = kind.words.first(where: { $0.rawValue.isSame(as: text) }) else {
            let known = kind.words.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            reader.refuse("must be one of \(known) for \(kind.rawValue)")
            return nil
        }
        return word
    }

    private static func answer(
        _ word: Word, _ object: JSONObjectReader?, _ reader: JSONReader, _ place: Place
    ) -> Self? {
        /// A member that the word requires.
        func required(_ name: String) -> JSONReader? {
            if let object { return object.required(name) }
            reader.refuse("must be an object with the member \"\(name)\" beside the answer \"\(word.rawValue)\"")
            return nil
        }
        switch word {
        case .performDefaultHandling: return .performDefaultHandling
        case .follow:
            guard let member = object?["request"] else { return .follow(nil) }
            return RequestChange(reader: member, in: place).map { .follow($0) }
        case .returnResponse: return .returnResponse
        case .cancel: return .cancel
        case .useCredential: return required("credential").flatMap { credential($0, place) }.map { .useCredential($0) }
        case .continueWithoutCredential: return .continueWithoutCredential
        case .rejectProtectionSpace: return .rejectProtectionSpace
        case .accept: return .accept
        case .reject: return .reject
        case .allow: return .allow
        case .becomeDownload: return .becomeDownload
        case .yes: return .decode(true)
        case .no: return .decode(false)
        case .use:
            let filename = object?["filename"].map { ConfigurationRule<String>.filename.read($0) }
            if case .some(nil) = filename { return nil }
            return .use(filename: filename ?? nil, overwrite: object?["overwrite"]?.bool() ?? false)
        case .useBody: return required("body").flatMap { body($0, place) }.map { .useBody($0) }
        case .store: return storing(object, place).map { .store($0) }
        case .doNotStore: return .doNotStore
        case .continueLoading: return .continueLoading
        case .useRequest:
            return required("request").flatMap { RequestChange(reader: $0, in: place) }.map { .useRequest($0) }
        }
    }

    private static func credential(_ reader: JSONReader, _ place: Place) -> JobCredential? {
        guard let credential = JobCredential(reader: reader) else { return nil }
        switch credential {
        case .stored where place == .service:
            reader.refuse("cannot be had by a rule of the service: a credential belongs to one tenant")
            return nil
        case .stored: return credential
        case .inline where place == .reply: return credential
        case .inline, .sealed:
            reader.refuse("must be the id of a credential (crd_…): a configuration is shown in clear")
            return nil
        }
    }

    /// A body that an answer brings.
    fileprivate static func body(_ reader: JSONReader, _ place: Place) -> JobBody? {
        guard let body = JobBody(reader: reader) else { return nil }
        guard place != .reply else { return body }
        guard body != .stream, body.blobs.isEmpty else {
            reader.refuse("must be in the answer itself: nobody sends a stream then, and nothing holds a blob")
            return nil
        }
        guard JSONWriter.object(body.write).count <= maximumBodyBytes else {
            reader.refuse("has more than \(maximumBodyBytes) bytes")
            return nil
        }
        return body
    }

    private static func storing(_ object: JSONObjectReader?, _ place: Place) -> Storing? {
        var storing = Storing()
        guard let object else { return storing }
        storing.userInfo = object["userInfo"].flatMap { ConfigurationRule<[String: String]>.texts(upTo: 32).read($0) }
        storing.storagePolicy = object["storagePolicy"]?.oneOf(CachedResponse.StoragePolicy.self)
        guard let member = object["body"] else { return storing }
        guard let body = body(member, place) else { return nil }
        guard body != .stream, body.blobs.isEmpty else {
            member.refuse("must be in the answer itself")
            return nil
        }
        storing.body = body
        return storing
    }

    // MARK: Writing

    /// Writes the answer as ``init(reader:to:in:)`` reads it; an inline credential is `sealed` in either form.
    func write(_ writer: inout JSONWriter, _ form: SecretForm) {
        guard hasMembers else { return writer.value(word.rawValue) }
        writer.object { writer in
            writer.member("answer", word.rawValue)
            writeMembers(&writer, form)
        }
    }

    private var hasMembers: Bool {
        switch self {
        case .follow(let change): change != nil
        case .use(let filename, let overwrite): filename != nil || overwrite
        case .store(let storing): storing != Storing()
        case .useCredential, .useBody, .useRequest: true
        default: false
        }
    }

    private func writeMembers(_ writer: inout JSONWriter, _ form: SecretForm) {
        switch self {
        case .follow(let change?), .useRequest(let change):
            writer.member("request", object: { change.write(&$0, form) })
        case .use(let filename, let overwrite):
            writer.member("filename", filename)
            if overwrite { writer.member("overwrite", true) }
        case .useCredential(let credential): writer.member("credential", credential.text)
        case .useBody(let body): writer.member("body", object: body.written(form).write)
        case .store(let storing):
            if let userInfo = storing.userInfo {
                writer.name("userInfo")
                ConfigurationRule<[String: String]>.texts(upTo: 32).write(userInfo, &writer)
            }
            writer.member("storagePolicy", storing.storagePolicy?.rawValue)
            if let body = storing.body { writer.member("body", object: body.written(form).write) }
        default: break
        }
    }
}

extension Answer.Word {
    /// The members that go with it.
    fileprivate var members: Set<String> {
        switch self {
        case .follow, .useRequest: ["request"]
        case .useCredential: ["credential"]
        case .use: ["filename", "overwrite"]
        case .useBody: ["body"]
        case .store: ["userInfo", "storagePolicy", "body"]
        default: []
        }
    }
}

extension RequestChange {
    fileprivate init?(reader: JSONReader, in place: Answer.Place) {
        guard let object = reader.object(of: ["url", "method", "headers", "body", "cachePolicy"]) else { return nil }
        self.init()
        url = object["url"]?.httpURL()
        method = object["method"].flatMap { JobRequest.method($0) }
        headers = object["headers"].flatMap { reader in
            place == .reply
                ? JobRequest.headers(reader) : ConfigurationRule<HTTPFields>.fieldsWithoutSecrets.read(reader)
        }
        cachePolicy = object["cachePolicy"]?.oneOf(CachePolicy.self)
        if let member = object["body"] {
            body = member.value == .null ? RequestChange.Body.none : Answer.body(member, place).map { .content($0) }
        }
        if self == RequestChange() { reader.refuse("must change something") }
    }

    func write(_ writer: inout JSONWriter, _ form: SecretForm) {
        writer.member("url", url?.description)
        writer.member("method", method?.rawValue)
        if let headers {
            writer.member("headers", array: { writer in for field in headers { field.write(&writer, form) } })
        }
        switch body {
        case nil: break
        case RequestChange.Body.none?:
            writer.name("body")
            writer.null()
        case .content(let body)?: writer.member("body", object: body.written(form).write)
        }
        writer.member("cachePolicy", cachePolicy?.rawValue)
    }
}

extension JobBody {
    /// The body as an answer is written with it: no answer says of its body whether it is secret.
    fileprivate func written(_ form: SecretForm) -> JobBody {
        switch self {
        case .stream, .blob: self
        case .text, .base64, .json, .form, .multipart: form == .redacted ? .text(Redaction.text) : self
        }
    }
}
