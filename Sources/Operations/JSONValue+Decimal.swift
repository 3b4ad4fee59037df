package import BellhopJSON
import ServiceRuntime

extension JSONValue {
    /// Creates a number that is rounded to `digits` digits after the decimal point, or `null` if it is not finite.
    package static func decimal(_ number: Double, digits: Int) -> JSONValue {
        number.isFinite ? .number(JSONNumber(checked: number.text(digits: digits))) : .null
    }
}
