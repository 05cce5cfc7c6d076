/** The version of this package, whose first two numbers are those of the API that it was made from. */
export const VERSION = "1.0.0";
