import BellhopRules
import Store

/// Names a page of a fan-out; all other data is in the database.
enum PageMessage {
    /// Reads a message; `nil` if it is not a page message.
    static func read(_ object: JSONObject) -> FanoutPage? {
        guard let fanout = object["fanout"]?.number?.int64, let page = object["page"]?.number?.int64, fanout > 0,
            page >= 0,
            let priority = object["priority"]?.string.flatMap(Priority.init(rawValue:))
        else { return nil }
        return FanoutPage(fanout: fanout, page: page, priority: priority)
    }

    static func body(_ page: FanoutPage) -> [UInt8] {
        let object = JSONObject([
            ("fanout", .number(JSONNumber(page.fanout))), ("page", .number(JSONNumber(page.page))),
            ("priority", .string(page.priority.rawValue)),
        ])
        return JSONWriter.canonicalBytes(of: .object(object))
    }
}
