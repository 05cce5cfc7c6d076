/// When something recurs, in the five fields of cron: minute, hour, day of the month, month, day of the week.
///
/// A field is `*`, or numbers, ranges and steps in a list: `0,30`, `9-17`, `*/10`, `8-18/2`. Months and days of the
/// week have names too (`jan`, `mon`); 0 and 7 are both Sunday. `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`
/// and their other names stand for the expressions that they mean.
package struct CronExpression: Sendable, Equatable, CustomStringConvertible {
    /// Why a text is no expression, in words that follow its name.
    package struct Refusal: Error, Equatable {
        package let message: String
    }

    /// As it was written.
    package let description: String
    let minutes: Set<Int>
    let hours: Set<Int>
    let days: Set<Int>
    let months: Set<Int>
    /// From 0, which is Sunday, to 6.
    let weekdays: Set<Int>
    /// The days of the month and of the week are both given: a day matches when either does.
    let meansEitherDay: Bool
    /// It goes on by the hour or the minute, and not at times of the clock on the wall.
    let goesByElapsedTime: Bool

    package init(_ text: String) throws(Refusal) {
        let fields = try Self.fields(of: text)
        description = text
        minutes = try CronField.minute.values(of: fields[0])
        hours = try CronField.hour.values(of: fields[1])
        days = try CronField.day.values(of: fields[2])
        months = try CronField.month.values(of: fields[3])
        weekdays = Set(try CronField.weekday.values(of: fields[4]).map { $0 % 7 })
        meansEitherDay = !fields[2].hasPrefix("*") && !fields[4].hasPrefix("*")
        goesByElapsedTime = fields[0].hasPrefix("*") || fields[1].hasPrefix("*")
        guard firstMatch(from: 0) != nil else { throw Refusal(message: "means a day that no month has") }
    }

    private static let names = [
        "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
        "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
    ]

    private static func fields(of text: String) throws(Refusal) -> [String] {
        let words = text.lowercased().split { $0 == " " || $0 == "\t" }.map { String($0) }
        if let first = words.first, first.hasPrefix("@") {
            guard words.count == 1, let expression = names[first] else {
                let known = names.keys.sorted().joined(separator: ", ")
                throw Refusal(message: "must be one of \(known) when it begins with @")
            }
            return expression.split(separator: " ").map { String($0) }
        }
        guard words.count == 5 else {
            throw Refusal(message: "must have five fields: minute, hour, day of the month, month, day of the week")
        }
        return words
    }
}

/// One of the five fields.
private struct CronField {
    let name: String
    let range: ClosedRange<Int>
    /// Names for numbers; the first one stands for ``firstNumber``.
    var names: [String] = []
    var firstNumber = 0

    static let minute = CronField(name: "minute", range: 0...59)
    static let hour = CronField(name: "hour", range: 0...23)
    static let day = CronField(name: "day of the month", range: 1...31)
    static let month = CronField(
        name: "month", range: 1...12,
        names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], firstNumber: 1)
    static let weekday = CronField(
        name: "day of the week", range: 0...7, names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"])

    /// The numbers that a field means.
    func values(of text: String) throws(CronExpression.Refusal) -> Set<Int> {
        var values = Set<Int>()
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            values.formUnion(try self.values(ofPart: part))
        }
        return values
    }

    private func values(ofPart part: Substring) throws(CronExpression.Refusal) -> StrideThrough<Int> {
        let pieces = part.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let span = try span(pieces[0])
        guard pieces.count == 2 else { return stride(from: span.lowerBound, through: span.upperBound, by: 1) }
        guard let step = number(pieces[1]), step > 0 else {
            throw refusal("the step of \"\(part)\" must be a number above 0")
        }
        guard pieces[0] == "*" || pieces[0].contains("-") else {
            throw refusal("a step must follow * or a range, and does not in \"\(part)\"")
        }
        return stride(from: span.lowerBound, through: span.upperBound, by: step)
    }

    private func span(_ text: Substring) throws(CronExpression.Refusal) -> ClosedRange<Int> {
        if text == "*" { return range }
        let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let first = try value(ends[0])
        guard ends.count == 2 else { return first...first }
        var last = try value(ends[1])
        // The week may end with its Sunday, by its name too.
        if range.upperBound == 7, last == 0, first > 0 { last = 7 }
        guard first <= last else { throw refusal("the range \"\(text)\" ends before it begins") }
        return first...last
    }

    private func value(_ text: Substring) throws(CronExpression.Refusal) -> Int {
        if let index = names.firstIndex(of: String(text)) { return firstNumber + index }
        guard let value = number(text), range.contains(value) else {
            let words = names.isEmpty ? "" : " or a name such as \(names[0])"
            throw refusal("\"\(text)\" is no number from \(range.lowerBound) to \(range.upperBound)\(words)")
        }
        return value
    }

    private func number(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.count <= 4, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }

    private func refusal(_ message: String) -> CronExpression.Refusal {
        .init(message: "has a wrong \(name): \(message)")
    }
}
