extension Decision.Decider {
    /// As it is stored with an answer.
    package var json: RawJSON { RawJSON(JSONWriter.object(write)) }

    /// Reads the author of an answer: the delegate, a key, an operator, or `otherwise`.
    package init(stored json: RawJSON) throws {
        let check = InputCheck()
        let reader = JSONReader(try JSONParser.parse(json.bytes), check: check)
        let object = reader.object(of: ["who", "endpoint", "key", "reason"])
        let decider: Self? =
            switch object?["who"]?.string() {
            case "delegate": object?.required("endpoint")?.identifier("an endpoint (whe_…)").map { .delegate($0) }
            case "key": object?.required("key")?.string().map { .key($0) }
            case "operator": .operator
            case "otherwise": object?.required("reason")?.oneOf(Decision.Reason.self).map { .otherwise($0) }
            default: nil
            }
        try check.finish()
        guard let decider else { throw InvalidInput(pointer: "/who", message: "answers no questions") }
        self = decider
    }
}
