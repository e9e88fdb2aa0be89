"""What the lessons show: one folder a lesson, and a kit that they share.

A folder has its lesson's widget, pictures, example programs and recordings.
"""
