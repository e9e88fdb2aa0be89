"""What do the lessons show? A folder for each lesson that shows something of its own, and a kit.

A folder has what that lesson alone needs of widget, pictures, example programs and recordings.
"""
