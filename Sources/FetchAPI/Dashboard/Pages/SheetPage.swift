import FetchJobs

/// A page of the dashboard that is made of tables, facts and forms: a list of things, or what is known of one.
///
/// All screens that show lists are of this form, so that they look and work alike: on a narrow screen each line of a
/// table becomes a card with the names of its columns.
struct SheetPage {
    let frame: PageFrame
    /// What the page is about, in a sentence or two.
    var hint: String?
    /// What the visitor has to know now, such as whose things these are.
    var notice: String?
    var choices: Choices?
    var search: Search?
    var sections: [Section] = []

    init(_ frame: PageFrame, hint: String? = nil) {
        self.frame = frame
        self.hint = hint
    }

    // MARK: Parts

    /// Links to parts of a list.
    struct Choices {
        struct Item {
            let title: String
            let href: String
            let isCurrent: Bool
        }

        /// What they choose by.
        let label: String
        let items: [Item]
    }

    /// A form that asks for a list, or for a part of it.
    struct Search {
        let path: String
        var fields: [Field]
        var button = "Show"
    }

    struct Section {
        var heading: String?
        var hint: String?
        var facts: Facts?
        var table: Table?
        /// A text as it came, such as the beginning of a body.
        var text: String?
        var forms: [Form] = []

        struct Facts { let facts: [Fact] }
    }

    /// A form that changes something.
    struct Form {
        let action: String
        let button: String
        var fields: [Field] = []
        /// What happens when it is sent.
        var effect: String?
        /// Whether it takes away what cannot be brought back; it is folded up then.
        var isDestructive = false
        var heading: String?
        /// What the button is about, for those who hear the page and not see it.
        var about: String?

        var label: String? { about.map { "\(button) \($0)" } }
    }

    struct Field {
        let name: String
        /// Nil for one that is not shown.
        var label: String?
        var value: String?
        var hint: String?
        /// The values to choose from; empty for any text.
        var options: [Option] = []
        var isRequired = false
        /// How many lines of a text are shown; nil for a text of one line.
        var lines: Int?
        /// What is wrong with the value.
        var fault: String?
        /// Its name in the page, for links to it; nil where nothing leads to it.
        var anchor: String?

        struct Option {
            let value: String
            let title: String
            let isChosen: Bool
        }
    }
}

// Tables have thousands of parts; they are asked for them by name, and not by reflection, which is slow.

extension SheetPage.Section: MustacheParent {
    func child(named name: String) -> Any? {
        switch name {
        case "heading": Shown.of(heading)
        case "hint": Shown.of(hint)
        case "facts": Shown.of(facts)
        case "table": Shown.of(table)
        case "text": Shown.of(text)
        case "forms": forms
        default: nil
        }
    }
}

extension SheetPage {
    struct Table: MustacheParent {
        let name: String
        let columns: [String]
        let rows: [Row]
        /// What is shown in place of no rows.
        let empty: String
        /// Where the list goes on; nil at its end.
        let next: String?

        /// Columns that have nothing in any line are left out.
        ///
        /// - Parameters:
        ///   - name: What the lines are, for those who hear the page and not see it.
        ///   - rows: Each with a cell for each column.
        init(_ name: String, _ columns: [String], _ rows: [[Cell]], empty: String = "None.", next: String? = nil) {
            let shown = columns.indices.filter { index in rows.contains { !$0[index].isEmpty } }
            self.name = name
            self.columns = shown.map { columns[$0] }
            self.rows = rows.map { cells in
                Row(
                    cells: shown.map { index in
                        var cell = cells[index]
                        cell.column = columns[index]
                        return cell
                    })
            }
            self.empty = empty
            self.next = next
        }

        func child(named name: String) -> Any? {
            switch name {
            case "name": self.name
            case "columns": columns
            case "rows": rows
            case "hasRows": !rows.isEmpty
            case "empty": empty
            case "next": Shown.of(next)
            default: nil
            }
        }
    }

    struct Row: MustacheParent {
        let cells: [Cell]

        func child(named name: String) -> Any? { name == "cells" ? cells : nil }
    }

    struct Cell: MustacheParent {
        var lines: [Line]
        var forms: [Form] = []
        fileprivate(set) var column = ""

        fileprivate var isEmpty: Bool { lines.isEmpty && forms.isEmpty }

        init(_ lines: Line?..., forms: [Form] = []) {
            self.lines = lines.compactMap(\.self)
            self.forms = forms
        }

        func child(named name: String) -> Any? {
            switch name {
            case "lines": lines
            case "forms": forms
            case "column": column
            default: nil
            }
        }
    }

    /// A piece of text in a cell, with a line of its own.
    struct Line: MustacheParent {
        var text: String
        var href: String?
        /// The class of a state's mark; nil for plain text.
        var state: String?
        /// What a time is exactly.
        var time: String?
        var isCode = false
        var isHint = false
        var isNumber = false

        /// A text of any origin.
        static func text(_ text: String) -> Line { Line(text: VisibleText.cut(text)) }

        /// The same, where there is one.
        static func text(_ text: String?) -> Line? { text.map { Line.text($0) } }

        static func hint(_ text: String?) -> Line? { text.map { Line(text: VisibleText.cut($0), isHint: true) } }

        static func code(_ text: String, to href: String? = nil) -> Line {
            Line(text: VisibleText.cut(text), href: href, isCode: true)
        }

        static func link(_ text: String, to href: String) -> Line { Line(text: VisibleText.cut(text), href: href) }

        static func state(_ text: String, _ style: String) -> Line { Line(text: text, state: style) }

        static func number(_ text: String, to href: String? = nil) -> Line {
            Line(text: text, href: href, isNumber: true)
        }

        /// How long ago a time was, or how long it is until then.
        static func time(_ time: Timestamp, now: Timestamp, before: String = "") -> Line {
            let text = time > now ? "in \(Age.text(since: now, now: time))" : "\(Age.text(since: time, now: now)) ago"
            return Line(text: before + text, time: time.description)
        }

        static func time(_ time: Timestamp?, now: Timestamp, before: String = "") -> Line? {
            time.map { Line.time($0, now: now, before: before) }
        }

        func child(named name: String) -> Any? {
            switch name {
            case "text": text
            case "href": Shown.of(href)
            case "state": Shown.of(state)
            case "time": Shown.of(time)
            case "isCode": isCode
            case "isHint": isHint
            case "isNumber": isNumber
            default: nil
            }
        }
    }
}

extension SheetPage.Form: MustacheParent {
    func child(named name: String) -> Any? {
        switch name {
        case "action": action
        case "button": button
        case "fields": fields
        case "effect": Shown.of(effect)
        case "isDestructive": isDestructive
        case "heading": Shown.of(heading)
        case "label": Shown.of(label)
        default: nil
        }
    }
}

extension SheetPage.Field {
    /// One that is not shown.
    static func hidden(_ name: String, _ value: String) -> Self { Self(name: name, value: value) }

    static func text(
        _ name: String, _ label: String, _ value: String? = nil, hint: String? = nil, isRequired: Bool = false
    ) -> Self { Self(name: name, label: label, value: value, hint: hint, isRequired: isRequired) }

    /// A choice of values, of which the empty one stands for all of them.
    static func choice(_ name: String, _ label: String, _ values: [String], chosen: String?, all: String) -> Self {
        let options =
            [Option(value: "", title: all, isChosen: chosen == nil)]
            + values.map { Option(value: $0, title: $0, isChosen: $0 == chosen) }
        return Self(name: name, label: label, options: options)
    }
}

extension SheetPage.Field: MustacheParent {
    func child(named name: String) -> Any? {
        switch name {
        case "name": self.name
        case "label": Shown.of(label)
        case "value": value ?? ""
        case "hint": Shown.of(hint)
        case "options": options
        case "hasOptions": !options.isEmpty
        case "isRequired": isRequired
        case "lines": Shown.of(lines)
        case "fault": Shown.of(fault)
        case "anchor": Shown.of(anchor)
        default: nil
        }
    }
}
