/// A part of a page as a template asks for it.
enum Shown {
    /// A part that is not there is false: for nil a template would go on to look in all that is around it.
    static func of(_ part: Any?) -> Any { part ?? false }
}
