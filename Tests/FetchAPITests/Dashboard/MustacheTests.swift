import Testing

@testable import FetchAPI

@Suite struct MustacheTests {
    private struct Item {
        let name: String
        let note: String?
        var items: [Item] = []
    }

    private struct Page {
        let title = "<&\"'>"
        let count = 3
        let isOpen = true
        let isShut = false
        let nothing: String? = nil
        let inner = Item(name: "inner", note: "n")
        let items = [Item(name: "a", note: nil), Item(name: "b", note: "x")]
        let empty: [Item] = []
        let note = "outer"
        let empties = ""
    }

    private struct Asked: MustacheParent {
        func child(named name: String) -> Any? { name == "name" ? "asked" : nil }
    }

    private func render(_ source: String, _ content: Any = Page(), others: [String: String] = [:]) throws -> String {
        var templates = try others.mapValues { try MustacheTemplate($0) }
        templates["page"] = try MustacheTemplate(source)
        return MustacheRenderer.render("page", of: templates, content)
    }

    @Test(arguments: [
        ("", ""), ("text { } {", "text { } {"), ("{{count}}", "3"), ("{{ count }}", "3"),
        ("{{nothing}}|{{unknown}}", "|"),
        ("{{title}}", "&lt;&amp;&quot;&#39;&gt;"), ("{{{title}}}", "<&\"'>"), ("{{inner.name}}", "inner"),
        ("{{inner.unknown.name}}", ""), ("{{nothing.name}}", ""),
    ])
    func `values are shown, and escaped unless they are markup`(source: String, expected: String) throws {
        #expect(try render(source) == expected)
    }

    @Test(arguments: [
        ("{{#isOpen}}y{{/isOpen}}{{#isShut}}n{{/isShut}}", "y"),
        ("{{^isOpen}}n{{/isOpen}}{{^isShut}}y{{/isShut}}", "y"),
        ("{{#nothing}}n{{/nothing}}{{^nothing}}y{{/nothing}}", "y"),
        ("{{#unknown}}n{{/unknown}}{{^unknown}}y{{/unknown}}", "y"),
        ("{{#empty}}n{{/empty}}{{^empty}}y{{/empty}}", "y"),
        ("{{#items}}{{name}},{{/items}}{{^items}}n{{/items}}", "a,b,"),
        ("{{#inner}}{{name}}{{/inner}}{{^inner}}n{{/inner}}", "inner"), ("{{#count}}{{.}}{{/count}}", "3"),
        ("{{#empties}}[{{.}}]{{/empties}}", "[]"), ("{{#inner.note}}{{.}}{{/inner.note}}", "n"),
        // What is around a value is looked in for what it has not, and not for what it has and is nil.
        ("{{#items}}{{name}}{{count}}{{note}};{{/items}}", "a3;b3x;"),
        ("{{#items}}{{#note}}{{.}}{{/note}}{{^note}}-{{/note}}{{/items}}", "-x"),
    ])
    func `sections are shown for what is there, once for each of a list`(source: String, expected: String) throws {
        #expect(try render(source) == expected)
    }

    @Test func `a value that is asked for its members has these alone`() throws {
        #expect(try render("{{name}}{{other}}", Asked()) == "asked")
    }

    @Test(arguments: [
        ("a\n{{#isOpen}}\nb\n{{/isOpen}}\nc\n", "a\nb\nc\n"), ("  {{#isOpen}}  \nb\n\t{{/isOpen}}", "b\n"),
        ("a {{#isOpen}}\nb\n{{/isOpen}} c", "a \nb\n c"), ("{{#isOpen}}{{count}}{{/isOpen}}\n", "3\n"),
        ("{{count}}\n", "3\n"), ("a\n{{>other}}\nb", "a\n[3]b"), ("a{{>other}}b", "a[3]b"),
        ("{{#isOpen}}\r\nb\r\n{{/isOpen}}\r\n", "b\r\n"),
    ])
    func `a line of one tag that shows nothing is left out`(source: String, expected: String) throws {
        #expect(try render(source, others: ["other": "[{{count}}]"]) == expected)
    }

    @Test func `a template fills the blocks of another`() throws {
        let layout = "<{{$head}}standard{{/head}}|{{$body}}{{/body}}>"
        #expect(
            try render("{{<layout}}{{$body}}{{count}}{{/body}} ignored{{/layout}}", others: ["layout": layout])
                == "<standard|3>")
        let middle = "{{<layout}}{{$head}}middle{{/head}}{{$body}}middle{{/body}}{{/layout}}"
        #expect(
            try render("{{<middle}}{{$body}}own{{/body}}{{/middle}}", others: ["layout": layout, "middle": middle])
                == "<middle|own>")
    }

    @Test func `a template that names itself follows the depth of what it shows`() throws {
        let tree = Item(name: "1", note: nil, items: [Item(name: "2", note: nil, items: [Item(name: "3", note: nil)])])
        #expect(try render("{{name}}{{#items}}({{>page}}){{/items}}", tree) == "1(2(3))")
    }

    @Test(arguments: [
        ("a\n{{#open}}", 2, "open is not closed"), ("{{/shut}}", 1, "shut is closed and was not the last to be opened"),
        ("{{#a}}{{#b}}{{/a}}{{/b}}", 1, "a is closed and was not the last to be opened"),
        ("\n\n{{name", 3, "a tag does not end"),
        ("{{{name}}", 1, "a tag does not end"), ("{{}}", 1, " is no name"), ("{{a b}}", 1, "a b is no name"),
        ("{{! comment}}", 1, "! comment is no name"),
    ])
    func `a fault names the line and what is wrong`(source: String, line: Int, message: String) throws {
        let fault = #expect(throws: MustacheTemplate.Fault.self) { try MustacheTemplate(source) }
        #expect(fault?.line == line)
        #expect(fault?.description == message)
    }

    @Test func `the templates that one names are known`() throws {
        let source = "{{>a}}{{#x}}{{>b}}{{/x}}{{<c}}{{$y}}{{>d}}{{/y}}{{/c}}"
        #expect(try MustacheTemplate(source).partials == ["a", "b", "c", "d"])
    }
}
