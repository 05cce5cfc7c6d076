/// A value whose members a template asks for by name, where reflection would be slow.
///
/// Of other values a template finds the stored properties.
protocol MustacheParent {
    /// The member of a name; nil when there is none, and the template goes on to look in what is around the value.
    func child(named name: String) -> Any?
}

/// Renders templates, of which each may name the others.
struct MustacheRenderer {
    private typealias Blocks = [String: [MustacheTemplate.Part]]

    private let templates: [String: MustacheTemplate]
    /// The values that sections have led into, the innermost last.
    private var stack: [Any]
    private var output = ""

    private init(_ templates: [String: MustacheTemplate], _ content: Any) {
        self.templates = templates
        stack = [content]
    }

    /// The template of a name, filled with a value.
    static func render(_ name: String, of templates: [String: MustacheTemplate], _ content: Any) -> String {
        var renderer = Self(templates, content)
        renderer.render(templates[name]?.parts ?? [], [:])
        return renderer.output
    }

    /// - Parameter blocks: What fills blocks, by their names.
    private mutating func render(_ parts: [MustacheTemplate.Part], _ blocks: Blocks) {
        for part in parts {
            switch part {
            case .text(let text): output += text
            case .value(let path, let isMarkup):
                guard let value = value(at: path) else { continue }
                let text = value as? String ?? String(describing: value)
                output += isMarkup ? text : MarkupEscape.escaped(text)
            case .section(let path, let inner, let isInverted):
                let value = value(at: path)
                if isInverted {
                    if Self.isFalse(value) { render(inner, blocks) }
                } else {
                    renderSection(inner, value, blocks)
                }
            case .partial(let name): render(templates[name]?.parts ?? [], blocks)
            case .inheritance(let name, let own):
                // A template that inherits from this one has the last word.
                render(templates[name]?.parts ?? [], own.merging(blocks) { _, outer in outer })
            case .block(let name, let standard): render(blocks[name] ?? standard, blocks)
            }
        }
    }

    private mutating func renderSection(_ parts: [MustacheTemplate.Part], _ value: Any?, _ blocks: Blocks) {
        switch value {
        case nil: break
        case let isTrue as Bool: if isTrue { render(parts, blocks) }
        case let list as any MustacheList:
            for index in 0..<list.count { render(parts, list.element(index), blocks) }
        case let value?: render(parts, value, blocks)
        }
    }

    private mutating func render(_ parts: [MustacheTemplate.Part], _ value: Any, _ blocks: Blocks) {
        stack.append(value)
        render(parts, blocks)
        stack.removeLast()
    }

    private static func isFalse(_ value: Any?) -> Bool {
        switch value {
        case nil: true
        case let isTrue as Bool: !isTrue
        case let list as any MustacheList: list.count == 0
        default: false
        }
    }

    // MARK: Names

    /// What a name stands for: the member of the innermost value that has it.
    private func value(at path: [String]) -> Any? {
        guard let first = path.first else { return stack.last }
        for value in stack.reversed() {
            guard let member = Self.member(first, of: value) else { continue }
            return path.dropFirst().reduce(member) { value, name in value.flatMap { Self.member(name, of: $0) ?? nil } }
        }
        return nil
    }

    /// The member of a name: nil when there is none, and a nil inside of it when there is one that is nil.
    private static func member(_ name: String, of value: Any) -> Any?? {
        if let parent = value as? any MustacheParent { return parent.child(named: name).map { .some($0) } }
        guard let member = Mirror(reflecting: value).children.first(where: { $0.label == name })?.value else {
            return nil
        }
        let mirror = Mirror(reflecting: member)
        return .some(mirror.displayStyle == .optional ? mirror.children.first?.value : member)
    }
}

/// A list, of whatever it is one.
private protocol MustacheList {
    var count: Int { get }
    func element(_ index: Int) -> Any
}

extension Array: MustacheList {
    fileprivate func element(_ index: Int) -> Any { self[index] }
}
